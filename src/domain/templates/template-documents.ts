import * as z from "zod/mini";
import { type Problems, quote } from "../kernel/errors.js";
import { isDeeper, isObject } from "../kernel/objects.js";
import { displayNameProblem, iconProblem, isStorable, proseProblem, textProblem, urlProblem } from "../kernel/text.js";
import {
  addFault,
  converted,
  jsonSchemaOf,
  list,
  map,
  matching,
  type Payload,
  prose,
  storable,
  text,
  type TextRule,
  validated,
  whole,
} from "../kernel/validation.js";
import { hasReferences, referenceFaults, referenceName, templatesIn } from "./references.js";
import {
  largestTogether,
  MonotonicDirection,
  patternProblem,
  sizeOf,
  TemplateParameterKind,
  textOf,
  typeProblem,
  valueProblem,
  type ValueType,
  variableTypes,
} from "./values.js";

// Documents and the members of their objects are spelled as in the format `steward.template/1`.

/** Maximum size of a document in bytes of JSON, and its maximum depth. */
const largest = 256 * 1024;
const deepest = 32;

/** Maximum number of entries. */
const most = {
  resources: 100,
  agents: 20,
  parameters: 100,
  presets: 50,
  apps: 50,
  scripts: 50,
  tags: 20,
  others: 100,
} as const;

/** Credits per day. */
const mostCost = 2_147_483_647;

/** Seconds. */
const day = 86_400;

const labelRule = "Must be 1 to 64 characters without white space at the edges.";

/** Names of presets, resources, and options. */
const label = text((found) => (found === "" || displayNameProblem(found) !== undefined ? labelRule : undefined));

/** Names of agents and slugs of apps. */
const slug = matching(
  /^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$/,
  "Must be 1 to 32 lower-case letters, digits and single hyphens between them.",
);

const inputName = matching(
  referenceName,
  "Must be 1 to 64 letters, digits, hyphens and underscores that do not begin with a digit or hyphen.",
);

const flag = z.prefault(z.boolean(), false);
const orEmpty = (schema: z.ZodMiniString<string>) => z.prefault(schema, "");
const entriesOf = <Entry extends z.ZodMiniType>(schema: z.ZodMiniArray<Entry>) => z.prefault(schema, []);

const displayName = orEmpty(text(displayNameProblem));
const description = orEmpty(prose(1000));
const icon = orEmpty(text(iconProblem));

/** Members of everything that people choose from. */
const described = { description, icon, display_name: displayName };

/** Adds a fault for each entry of a list whose name another one has. */
const unique =
  <Name extends string>(name: Name) =>
  (payload: Payload<Array<Record<Name, string>>>): void =>
    addRepeated(payload, payload.value, name);

function addRepeated<Name extends string>(
  payload: Payload<unknown>,
  entries: ReadonlyArray<Record<Name, string>>,
  name: Name,
  ...path: PropertyKey[]
): void {
  const taken = new Set<string>();
  for (const [index, { [name]: value }] of entries.entries()) {
    if (value !== "" && taken.has(value))
      addFault(payload, `Is the ${name} of another entry: ${quote(value)}.`, ...path, index, name);
    taken.add(value);
  }
}

// What people enter for a version or a workspace. A value whose type depends on another member is any JSON first.

/** Converts a value to the text by which it is stored and sent. Adds a fault for a value of another type. */
function textIn(payload: Payload<unknown>, type: ValueType, value: unknown, ...path: PropertyKey[]): string {
  const found = textOf(type, value);
  const problem = found === undefined ? `Must be a ${type}.` : typeProblem(type, found);
  addFault(payload, problem, ...path);
  return problem === undefined ? found! : "";
}

const variable = converted(
  z.strictObject({
    name: inputName,
    description,
    type: z.prefault(z.enum(variableTypes), "string"),
    /** Absent if a value is required. */
    default: z.optional(z.unknown()),
    sensitive: flag,
  }),
  (payload) => {
    const { type, default: value } = payload.value;
    const given = value === undefined ? undefined : textIn(payload, type, value, "default");
    return { ...payload.value, default: given };
  },
);

export type DocumentVariable = z.output<typeof variable>;

const parameterMembers = z.strictObject({
  name: inputName,
  ...described,
  type: z.prefault(z.enum(TemplateParameterKind), "string"),
  /** Absent if a value is required. */
  default: z.optional(z.unknown()),
  mutable: z.prefault(z.boolean(), true),
  ephemeral: flag,
  options: entriesOf(
    list(most.others, z.strictObject({ name: label, value: z.unknown(), ...described })).check(unique("name")),
  ),
  validation: z.optional(
    z.strictObject({
      regex: orEmpty(text(patternProblem)),
      error: description,
      min: z.optional(z.number()),
      max: z.optional(z.number()),
      monotonic: z.optional(z.enum(MonotonicDirection)),
    }),
  ),
});

const parameter = converted(parameterMembers, (payload) => {
  const { type } = payload.value;
  const elementType = type === "list" ? "string" : type;
  const options = payload.value.options.map((option, index) => ({
    ...option,
    value: textIn(payload, elementType, option.value, "options", index, "value"),
  }));
  addRepeated(payload, options, "value", "options");
  checkValidation(payload);
  return { ...payload.value, options, default: defaultOf(payload, { ...payload.value, options }) };
});

export type DocumentParameter = z.output<typeof parameter>;

type ParameterMembers = z.output<typeof parameterMembers>;

/** Reads the default of a parameter. `rules` hold for it unless they are faulty. */
function defaultOf(payload: Payload<ParameterMembers>, rules: Parameters<typeof valueProblem>[0]): string | undefined {
  const { type, ephemeral, default: given } = payload.value;
  if (given === undefined) {
    // Builds that no user starts have no other value for it.
    if (ephemeral) addFault(payload, "Is required for an ephemeral parameter.", "default");
    return undefined;
  }
  const areSound = payload.issues.length === 0;
  const value = textIn(payload, type, given, "default");
  if (areSound && payload.issues.length === 0) addFault(payload, valueProblem(rules, value), "default");
  return value;
}

function checkValidation(payload: Payload<ParameterMembers>): void {
  const { type, validation } = payload.value;
  if (!validation) return;
  const { regex, min, max, monotonic } = validation;
  if (regex !== "" && type !== "string") addFault(payload, "Is only for strings.", "validation", "regex");
  if (type !== "number")
    for (const [name, value] of Object.entries({ min, max, monotonic }))
      if (value !== undefined) addFault(payload, "Is only for numbers.", "validation", name);
  if (min !== undefined && max !== undefined && min > max)
    addFault(payload, "Must not be less than min.", "validation", "max");
}

const preset = z.strictObject({
  name: label,
  ...described,
  default: flag,
  parameters: z.prefault(map(most.parameters, z.unknown()), {}),
  prebuilds: z.optional(
    z.strictObject({
      instances: z.prefault(whole(0, 50), 0),
      /** Seconds after which an unclaimed workspace is replaced; 0 for none. */
      ttl_seconds: z.prefault(whole(0, 31_536_000), 0),
    }),
  ),
});

// What a workspace is made of.

const urlOrEmpty = (found: string): string | undefined => (found === "" ? undefined : urlProblem(found));

const envName = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;
const envNameProblem = (name: string): string | undefined =>
  envName.test(name)
    ? undefined
    : "The name must be 1 to 256 letters, digits and underscores that do not begin with a digit.";

// The five fields of cron, each a list of numbers, names, ranges, and steps.
const cron = matching(
  /^$|^(?=.{9,128}$)[\d*][\d*,/-]*( [\d*][\d*,/-]*){2}( [\dA-Za-z*][\dA-Za-z*,/-]*){2}$/,
  "Must be empty, or the five fields minute, hour, day of month, month and weekday.",
);

const script = z.strictObject({
  display_name: label,
  script: prose(128 * 1024),
  cron: orEmpty(cron),
  log_path: orEmpty(prose(4096)),
  run_on_start: flag,
  run_on_stop: flag,
  start_blocks_login: flag,
  /** Seconds; 0 for none. */
  timeout: z.prefault(whole(0, day), 0),
});

export type DocumentScript = z.output<typeof script>;

const anyProblem = (found: string) => proseProblem(found, 32 * 1024);

/** Resources of documents, or of reports of daemons, which have replaced the references. */
function resourceOf(areRendered: boolean) {
  /** Text in which a daemon replaces references. Only the result has to conform to further rules. */
  const template = (problemOf: TextRule) =>
    text((found) => (!areRendered && hasReferences(found) ? anyProblem(found) : problemOf(found)));
  const anyText = template(anyProblem);

  const app = z.strictObject({
    slug,
    display_name: displayName,
    icon,
    url: orEmpty(template(urlOrEmpty)),
    command: orEmpty(prose(4096)),
    external: flag,
    group: displayName,
    hidden: flag,
    open_in: z.prefault(z.enum(["slim-window", "tab"]), "slim-window"),
    sharing_level: z.prefault(z.enum(["owner", "authenticated", "organization", "public"]), "owner"),
    subdomain: flag,
    tooltip: orEmpty(prose(1024)),
    healthcheck: z.optional(
      z.strictObject({
        url: template(urlProblem),
        /** Seconds. */
        interval: z.prefault(whole(1, 3600), 5),
        threshold: z.prefault(whole(1, 100), 3),
      }),
    ),
  });
  const agent = z.strictObject({
    name: slug,
    os: z.enum(["linux", "darwin", "windows"]),
    arch: z.enum(["amd64", "arm64", "armv7"]),
    directory: orEmpty(template((found) => proseProblem(found, 4096))),
    env: z.prefault(map(most.others, anyText, envNameProblem), {}),
    command: entriesOf(list(most.others, anyText)),
    restart: z.prefault(z.enum(["never", "on_failure"]), "never"),
    /** Whether the agent runs outside of the daemon, with a token that its owner reads. */
    external: flag,
    /** 0 for none. */
    connection_timeout_seconds: z.prefault(whole(0, day), 120),
    startup_script_behavior: z.prefault(z.enum(["non-blocking", "blocking"]), "non-blocking"),
    troubleshooting_url: orEmpty(text(urlOrEmpty)),
    display_apps: entriesOf(
      list(5, z.enum(["vscode", "vscode_insiders", "web_terminal", "port_forwarding_helper", "ssh_helper"])),
    ),
    apps: entriesOf(list(most.apps, app).check(unique("slug"))),
    scripts: entriesOf(list(most.scripts, script)),
  });
  return z.strictObject({
    name: label,
    type: displayName,
    ...described,
    hide: flag,
    daily_cost: z.prefault(whole(0, mostCost), 0),
    /** The transitions whose builds have the resource. */
    transitions: z.prefault(list(2, z.enum(["start", "stop"])), ["start"]),
    metadata: entriesOf(list(most.others, z.strictObject({ key: label, value: orEmpty(anyText), sensitive: flag }))),
    agents: entriesOf(list(most.agents, agent)),
  });
}

export type DocumentResource = z.output<ReturnType<typeof resourceOf>>;
export type DocumentAgent = DocumentResource["agents"][number];
export type DocumentApp = DocumentAgent["apps"][number];

/** The cost of resources, in credits per day. */
export const dailyCostOf = (resources: ReadonlyArray<Pick<DocumentResource, "daily_cost">>): number =>
  resources.reduce((sum, { daily_cost: cost }) => sum + cost, 0);

/** Checks the rules of resources among each other: names of agents are unique in the document. */
function checkResources(payload: Payload<DocumentResource[]>): void {
  const taken = new Set<string>();
  for (const [index, { agents }] of payload.value.entries())
    for (const [n, { name }] of agents.entries()) {
      if (taken.has(name)) addFault(payload, "Is the name of another agent.", index, "agents", n, "name");
      taken.add(name);
    }
  const agents = payload.value.reduce((sum, each) => sum + each.agents.length, 0);
  if (agents > most.agents) addFault(payload, `Must have at most ${most.agents} agents together.`);
  if (dailyCostOf(payload.value) > mostCost) addFault(payload, `Must cost at most ${mostCost} per day together.`);
}

/** Checks the size of all regular expressions. */
function checkPatterns(payload: Payload<DocumentParameter[]>): void {
  const size = payload.value.reduce((sum, { validation }) => sum + sizeOf(validation?.regex ?? ""), 0);
  if (size > largestTogether) addFault(payload, "Must have smaller regular expressions: they are too large together.");
}

const tagProblem = (key: string): string | undefined => {
  if (key === "owner") return "Is set by the server.";
  return key !== "" && key.length <= 64 ? undefined : "The key must have 1 to 64 characters.";
};

const tags = converted(
  z.catchall(
    z.object({ scope: z.optional(z.enum(["user", "organization"], "Must be user or organization.")) }),
    prose(256),
  ),
  (payload) => {
    const keys = Object.keys(payload.value);
    if (keys.length > most.tags) addFault(payload, `Must have at most ${most.tags} entries.`);
    else for (const key of keys) addFault(payload, textProblem(key) ?? tagProblem(key), key);
    return payload.value;
  },
);

const json = z.unknown().check((payload) => {
  if (!holdsStorableText(payload.value)) addFault(payload, "Must hold valid Unicode without NUL characters.");
});

const holdsStorableText = (value: unknown): boolean => {
  if (typeof value === "string") return isStorable(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, each]) => isStorable(key) && holdsStorableText(each));
};

const document = converted(
  z.strictObject({
    schema: z.literal("steward.template/1"),
    provisioner: matching(
      /^[a-z][a-z0-9-]{0,31}$/,
      "Must be 1 to 32 lower-case letters, digits and hyphens, a letter first.",
    ),
    tags: z.prefault(tags, {}),
    variables: entriesOf(list(most.others, variable).check(unique("name"))),
    parameters: entriesOf(list(most.parameters, parameter).check(unique("name"), checkPatterns)),
    presets: entriesOf(list(most.presets, preset).check(unique("name"))),
    resources: entriesOf(
      list(
        most.resources,
        z.lazy(() => resourceOf(false)),
      ).check(unique("name"), checkResources),
    ),
    /** The app at which tasks talk to their agent program. */
    ai_task: z.optional(z.strictObject({ agent: storable, app: storable })),
    /** The source from which the provisioner makes resources, in a format of its own. */
    source: z.optional(json),
  }),
  (payload) => {
    const { parameters, presets, resources, ai_task: task, source } = payload.value;
    const agents = resources.flatMap((each) => each.agents);
    checkPresets(payload, presets, agents);
    if (task && payload.issues.length === 0) checkTask(payload, task, agents);
    const areSound = !payload.issues.some(({ path }) => path?.[0] === "parameters");
    return {
      ...payload.value,
      presets: areSound ? presets.map((each, index) => presetIn(payload, each, parameters, index)) : [],
      source,
    };
  },
);

/** A template document with its defaults. Members are spelled as in the format. */
export type TemplateDocument = z.output<typeof document>;
export type DocumentPreset = TemplateDocument["presets"][number];
type PresetMembers = z.output<typeof preset>;

/** Reads the values of a preset by the parameters of the document. */
function presetIn(
  payload: Payload<unknown>,
  found: PresetMembers,
  parameters: readonly DocumentParameter[],
  index: number,
) {
  const known = new Map(parameters.map((each) => [each.name, each]));
  const values = Object.entries(found.parameters).map(([name, given]): [string, string] => {
    const rules = known.get(name);
    const value = rules && textOf(rules.type, given);
    const problem = !rules
      ? "Is not a parameter of the document."
      : value === undefined
        ? `Must be a ${rules.type}.`
        : valueProblem(rules, value);
    addFault(payload, problem, "presets", index, "parameters", name);
    return [name, value ?? ""];
  });
  // No user enters values for prebuilt workspaces.
  if (found.prebuilds && found.prebuilds.instances > 0)
    for (const { name, default: value } of parameters)
      if (value === undefined && !Object.hasOwn(found.parameters, name)) {
        const rule = "Is required for prebuilds: the parameter has no default.";
        addFault(payload, rule, "presets", index, "parameters", name);
      }
  return { ...found, parameters: Object.fromEntries(values) };
}

function checkPresets(payload: Payload<unknown>, presets: readonly PresetMembers[], agents: readonly DocumentAgent[]) {
  const first = presets.findIndex((each) => each.default);
  const areExternal = agents.some(({ external }) => external);
  for (const [index, each] of presets.entries()) {
    if (each.default && index > first) addFault(payload, "Is set on another preset.", "presets", index, "default");
    if (areExternal && (each.prebuilds?.instances ?? 0) > 0)
      addFault(payload, "Must not be used with external agents.", "presets", index, "prebuilds");
  }
}

function checkTask(
  payload: Payload<unknown>,
  task: { agent: string; app: string },
  agents: readonly DocumentAgent[],
): void {
  const agent = agents.find(({ name }) => name === task.agent);
  const app = agent?.apps.find(({ slug: name }) => name === task.app);
  if (!agent) addFault(payload, "Must be the name of an agent.", "ai_task", "agent");
  else if (!app) addFault(payload, "Must be the slug of an app of the agent.", "ai_task", "app");
  else if (app.url === "") addFault(payload, "Must be an app with a URL.", "ai_task", "app");
}

/** The JSON Schema of documents. It lacks the rules for texts and for members that depend on each other. */
export const documentJsonSchema = () => jsonSchemaOf(document);

/**
 * Checks the document of a template version, and adds defaults. Adds every fault to `problems`, with its path from
 * `path`, such as `document.resources[0].agents[0].name`. Returns `undefined` if there is any.
 */
export function parseDocument(value: unknown, problems: Problems, path = "document"): TemplateDocument | undefined {
  const problem = sizeProblem(value);
  problems.add(path, problem);
  if (problem !== undefined) return undefined;
  const before = problems.found.length;
  const found = validated(document, withoutNulls(value), problems, path);
  const { provisioner, parameters, variables, resources } = isObject(value) ? value : {};
  const referable = { provisioner, parameters: namesIn(parameters), variables: namesIn(variables) };
  for (const { text: given, path: here } of templatesIn(resources, `${path}.resources`))
    for (const fault of referenceFaults(given, referable)) problems.add(here, fault);
  return problems.found.length === before ? found : undefined;
}

/** The depth is bounded before the size is measured, and the size before anything is read. */
function sizeProblem(value: unknown): string | undefined {
  if (isDeeper(value, deepest)) return `Must be nested at most ${deepest} levels deep.`;
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "");
  return bytes > largest ? `Must be at most ${largest / 1024} KiB of JSON.` : undefined;
}

/** The names that a document declares, also of entries with faults: references to them are not further faults. */
const namesIn = (entries: unknown): ReadonlySet<unknown> =>
  new Set(Array.isArray(entries) ? entries.map((entry: { name?: unknown } | null) => entry?.name) : []);

/** The resources in the report of a daemon, which has replaced the references. */
const reported = list(
  most.resources,
  z.lazy(() => resourceOf(true)),
);

/** Checks the resources that a daemon reports. Adds every fault to `problems`; returns `undefined` if there is any. */
export const parseReportedResources = (resources: unknown, problems: Problems, path: string) =>
  validated(reported, withoutNulls(resources), problems, path);

/** Members of objects that are null count as absent, except in the source. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(entries.map(([name, each]) => [name, name === "source" ? each : withoutNulls(each)]));
}
