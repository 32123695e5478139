import type { Problems } from "../kernel/errors.js";
import { isStorable } from "../kernel/text.js";
import { type DocumentPreset, parameter, presetOf, variable } from "./document-inputs.js";
import { most, resource } from "./document-parts.js";
import { checkParameters, checkResources, checkTogether } from "./document-rules.js";
import {
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
} from "./members.js";
import { checkReferences } from "./references.js";

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
