import type { Problems } from "../kernel/errors.js";
import { isStorable } from "../kernel/text.js";
import {
  type DocumentParameter,
  type DocumentPreset,
  type DocumentVariable,
  parameter,
  presetOf,
  variable,
} from "./document-inputs.js";
import { type DocumentResource, most, resource } from "./document-parts.js";
import {
  checkUnique,
  list,
  map,
  matching,
  newReading,
  object,
  oneOf,
  optional,
  otherwise,
  Place,
  type Read,
  type ReadBy,
  required,
  string,
} from "./document-reader.js";
import { checkReferences } from "./references.js";
import { largestTogether, sizeOf } from "./values.js";

export type { DocumentAgent, DocumentApp, DocumentResource, DocumentScript } from "./document-parts.js";
export type { DocumentParameter, DocumentPreset, DocumentVariable } from "./document-inputs.js";

/** Maximum size of a document in bytes of JSON, and its maximum depth. */
const largest = 256 * 1024;
const deepest = 32;

const mostTags = 20;

const tagProblem = (key: string): string | undefined => {
  if (key === "owner") return "Is set by the server.";
  return key !== "" && key.length <= 64 ? undefined : "The key must have 1 to 64 characters.";
};

const tag: Read<string> = (value, place) => {
  const found = string(value, place);
  if (found.length > 256) place.fault("Must be at most 256 characters.");
  const isScope = place.path.endsWith(".tags.scope");
  if (isScope && found !== "user" && found !== "organization") place.fault("Must be user or organization.");
  return found;
};

const json: Read<unknown> = (value, place) => {
  if (!holdsStorableText(value)) place.fault("Must hold valid Unicode without NUL characters.");
  return value;
};

const holdsStorableText = (value: unknown): boolean => {
  if (typeof value === "string") return isStorable(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, each]) => isStorable(key) && holdsStorableText(each));
};

const aiTask = object({ agent: required(string), app: required(string) });

/** The members of a document. Presets are read when the parameters are known. */
const members = object({
  schema: required(oneOf("steward.template/1")),
  provisioner: required(
    matching(/^[a-z][a-z0-9-]{0,31}$/, "Must be 1 to 32 lower-case letters, digits and hyphens, a letter first."),
  ),
  tags: otherwise({}, map(mostTags, tagProblem, tag)),
  variables: otherwise([], list(most.others, variable)),
  parameters: otherwise([], list(most.parameters, parameter)),
  presets: optional((value): unknown => value),
  resources: otherwise([], list(most.resources, resource)),
  /** The app at which tasks talk to their agent program. */
  ai_task: optional(aiTask),
  /** What the provisioner makes resources of, in a form of its own. */
  source: optional(json),
});

/** A template document with its defaults. Members are spelled as in the format. */
export type TemplateDocument = Omit<ReadBy<typeof members>, "presets"> & { presets: DocumentPreset[] };

/**
 * Checks the document of a template version, and adds defaults. Adds every fault to `problems`, with its path from
 * `path`, such as `document.resources[0].agents[0].name`. Returns `undefined` if there is any.
 */
export function parseDocument(value: unknown, problems: Problems, path = "document"): TemplateDocument | undefined {
  const place = new Place(path, newReading(problems));
  place.check(sizeProblem(value));
  if (place.faults > 0) return undefined;

  const found = members(value, place);
  checkParameters(found.parameters, place.member("parameters"));
  checkResources(found.resources, place.member("resources"));
  const areParametersSound = !problems.found.some(({ field }) => field.startsWith(`${path}.parameters`));
  const readPresets = list(most.presets, presetOf(found.parameters, areParametersSound && !problems.isFull));
  const presets = found.presets === undefined ? [] : readPresets(found.presets, place.member("presets"));
  const document = { ...found, presets };
  if (place.faults === 0) checkTogether(document, place);

  const referable = {
    provisioner: document.provisioner,
    parameters: namesIn(value, "parameters"),
    variables: namesIn(value, "variables"),
  };
  for (const { text, place: here } of place.reading.templates) checkReferences(text, here, referable);
  return place.faults === 0 ? document : undefined;
}

/** The depth is bounded before the size is measured, and the size before anything is read. */
function sizeProblem(value: unknown): string | undefined {
  if (isDeeper(value, deepest)) return `Must be nested at most ${deepest} levels deep.`;
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "");
  return bytes > largest ? `Must be at most ${largest / 1024} KiB of JSON.` : undefined;
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1)));

/** The names that a document declares, also of entries with faults: references to them are not further faults. */
function namesIn(document: unknown, member: "parameters" | "variables"): ReadonlySet<string> {
  const entries = (document as Record<string, unknown> | null)?.[member];
  const names = Array.isArray(entries) ? entries.map((entry) => (entry as { name?: unknown } | null)?.name) : [];
  return new Set(names.filter((name) => typeof name === "string"));
}

/** The members of a document that depend on each other. */
interface Parts {
  variables: readonly DocumentVariable[];
  parameters: readonly DocumentParameter[];
  presets: readonly DocumentPreset[];
  resources: readonly DocumentResource[];
  ai_task?: { agent: string; app: string } | undefined;
}

const mostCost = 2_147_483_647;

/** Checks the rules of parameters among each other. */
function checkParameters(parameters: readonly DocumentParameter[], place: Place): void {
  checkUnique(parameters, "name", place);
  const size = parameters.reduce((sum, { validation }) => sum + sizeOf(validation?.regex ?? ""), 0);
  if (size > largestTogether) place.fault("Must have smaller regular expressions: they are too large together.");
}

/** Checks the rules of resources among each other: names of agents are unique in the document. */
function checkResources(resources: readonly DocumentResource[], place: Place): void {
  checkUnique(resources, "name", place);
  const taken = new Set<string>();
  for (const [index, { agents }] of resources.entries()) {
    const here = place.item(index).member("agents");
    for (const [n, { name, apps }] of agents.entries()) {
      if (name !== "" && taken.has(name)) here.item(n).member("name").fault("Is the name of another agent.");
      taken.add(name);
      checkUnique(apps, "slug", here.item(n).member("apps"));
    }
  }
  const agents = resources.reduce((sum, each) => sum + each.agents.length, 0);
  if (agents > most.agents) place.fault(`Must have at most ${most.agents} agents together.`);
  if (dailyCostOf(resources) > mostCost) place.fault(`Must cost at most ${mostCost} per day together.`);
}

/** The cost of resources, in credits per day. */
export const dailyCostOf = (resources: ReadonlyArray<Pick<DocumentResource, "daily_cost">>): number =>
  resources.reduce((sum, { daily_cost: cost }) => sum + cost, 0);

/** Checks members against each other that conform to the rules of their own. */
function checkTogether({ variables, presets, resources, ai_task: task }: Parts, place: Place): void {
  checkUnique(variables, "name", place.member("variables"));
  checkUnique(presets, "name", place.member("presets"));
  const agents = resources.flatMap((each) => each.agents);
  const isExternal = agents.some(({ external }) => external);
  for (const [index, preset] of presets.entries()) {
    const here = place.member("presets").item(index);
    if (preset.default && presets.findIndex((each) => each.default) < index)
      here.member("default").fault("Is set on another preset.");
    if (isExternal && (preset.prebuilds?.instances ?? 0) > 0)
      here.member("prebuilds").fault("Must not be used with external agents.");
  }
  if (task) checkTask(task, agents, place.member("ai_task"));
}

function checkTask(task: { agent: string; app: string }, agents: DocumentResource["agents"], place: Place): void {
  const agent = agents.find(({ name }) => name === task.agent);
  const app = agent?.apps.find(({ slug }) => slug === task.app);
  if (!agent) place.member("agent").fault("Must be the name of an agent.");
  else if (!app) place.member("app").fault("Must be the slug of an app of the agent.");
  else if (app.url === "") place.member("app").fault("Must be an app with a URL.");
}
