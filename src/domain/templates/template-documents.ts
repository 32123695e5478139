import * as z from "zod/mini";
import type { TaskOptions } from "../../entities/templates.js";
import { type Problems } from "../kernel/errors.js";
import { isDeeper, isObject } from "../../runtime/json.js";
import { holdsStorableText, textProblem } from "../../runtime/text.js";
import {
  addFault,
  convertBy,
  jsonSchemaOf,
  list,
  map,
  matching,
  type Payload,
  prose,
  storable,
  textBy,
  validate,
  int,
} from "../kernel/values.js";
import { timeZoneNamed } from "../quiet-hours/time-zones.js";
import {
  addRepeated,
  described,
  description,
  entriesOf,
  flag,
  label,
  means,
  most,
  emptyAtFirst,
  unique,
} from "./document-members.js";
import { checkResources, type DocumentAgent, resourceOf } from "./document-resources.js";
import { hoursProblem } from "./prebuild-schedules.js";
import { referenceFaults, referenceName, templatesIn } from "./references.js";
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
} from "./parameter-values.js";

// Documents and the members of their objects are spelled as in the format `steward.template/1`.

/** Maximum size of a document in bytes of JSON, and its maximum depth. */
const largest = 256 * 1024;
const deepest = 32;

const inputName = matching(
  referenceName,
  "Must be 1 to 64 letters, digits, hyphens and underscores that do not begin with a digit or hyphen.",
);

// Variables and parameters: values that people enter for a version or a workspace. If the type of a value depends on
// another member, the value is first accepted as any JSON, and then converted.

/** Converts a value to the text by which it is stored and sent. Adds a fault for a value of another type. */
function textIn(payload: Payload<unknown>, type: ValueType, value: unknown, ...path: PropertyKey[]): string {
  const found = textOf(type, value);
  const problem = found === undefined ? `Must be a ${type}.` : typeProblem(type, found);
  addFault(payload, problem, ...path);
  return problem === undefined ? found! : "";
}

const variable = convertBy(
  z.strictObject({
    name: inputName.check(means("Name, unique among the variables: `${var.NAME}` has the value.")),
    description: description.check(means("Description for administrators.")),
    type: z.prefault(z.enum(variableTypes), "string").check(means("Type of the value.")),
    default: z
      .optional(z.unknown())
      .check(means("Value of versions without another one. Without it, a value is required.")),
    sensitive: flag.check(means("Whether the value is a secret.")),
  }),
  (payload) => {
    const { type, default: value } = payload.value;
    const given = value === undefined ? undefined : textIn(payload, type, value, "default");
    return { ...payload.value, default: given };
  },
);

export type DocumentVariable = z.output<typeof variable>;

const optionMembers = z.strictObject({
  name: label.check(means("Name that people see, unique in the parameter, 1 to 64 characters.")),
  value: z.unknown().check(means("The value, of the type of the parameter.")),
  ...described,
});

const validationMembers = z.strictObject({
  regex: emptyAtFirst(textBy(patternProblem)).check(
    means("Regular expression in RE2 syntax that matches a part of every string. At most 500 characters."),
  ),
  error: description.check(means("Message for values that violate a rule, in place of the server's own.")),
  min: z.optional(z.number()).check(means("The smallest number.")),
  max: z.optional(z.number()).check(means("The largest number.")),
  monotonic: z
    .optional(z.enum(MonotonicDirection))
    .check(means("In which direction a number may change after the workspace was created.")),
});

const parameterMembers = z.strictObject({
  name: inputName.check(means("Name, unique among the parameters: `${param.NAME}` has the value.")),
  ...described,
  type: z
    .prefault(z.enum(TemplateParameterKind), "string")
    .check(means("Type of the value. A `list` is a JSON array of strings.")),
  default: z
    .optional(z.unknown())
    .check(means("Value where people enter none. Without it, they, or a preset, must give one.")),
  mutable: z.prefault(z.boolean(), true).check(means("Whether the value can change after the workspace was created.")),
  ephemeral: flag.check(means("Whether a value holds for one build only. Requires a default.")),
  options: entriesOf(list(most.others, optionMembers).check(unique("name"))).check(
    means("The values that people choose from; of a `list`, its elements. Empty for any value."),
  ),
  validation: z.optional(validationMembers).check(means("Further rules for values.")),
});

const parameter = convertBy(parameterMembers, (payload) => {
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

const prebuildSchedule = z.strictObject({
  cron: textBy(hoursProblem).check(
    means(
      "The hours and days in the five fields of cron, of which the minute is `*`: `* 8-17 * * 1-5` is from 8:00 to 17:59 on Monday to Friday.",
    ),
  ),
  timezone: z
    .prefault(
      textBy((name) => (timeZoneNamed(name) ? undefined : "Must be an IANA name such as Europe/Berlin.")),
      "UTC",
    )
    .check(means("IANA name of the time zone of the hours and days.")),
  instances: int(0, 50).check(means("Number of workspaces that are kept ready in these hours.")),
});

const prebuilds = z.strictObject({
  instances: z.prefault(int(0, 50), 0).check(means("Number of workspaces that are kept ready.")),
  schedules: entriesOf(list(most.schedules, prebuildSchedule)).check(
    means("Other numbers of workspaces by the time. The first that holds counts; at most 20."),
  ),
  ttl_seconds: z
    .prefault(int(0, 31_536_000), 0)
    .check(means("Seconds after which a workspace that no user has claimed is replaced; 0 for none.")),
});

const preset = z.strictObject({
  name: label.check(means("Name, unique among the presets, 1 to 64 characters.")),
  ...described,
  default: flag.check(means("Whether clients offer it first. At most one preset is the default.")),
  parameters: z
    .prefault(map(most.parameters, z.unknown()), {})
    .check(means("Values by the names of their parameters, of the types of these.")),
  prebuilds: z.optional(prebuilds).check(means("Workspaces that are made for the preset before people ask for them.")),
});

/** Checks the size of all regular expressions. */
function checkPatterns(payload: Payload<DocumentParameter[]>): void {
  const size = payload.value.reduce((sum, { validation }) => sum + sizeOf(validation?.regex ?? ""), 0);
  if (size > largestTogether) addFault(payload, "Must have smaller regular expressions: they are too large together.");
}

const tagProblem = (key: string): string | undefined => {
  if (key === "owner") return "Is set by the server.";
  return key !== "" && key.length <= 64 ? undefined : "The key must have 1 to 64 characters.";
};

const tags = convertBy(
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

const sessionOption = (what: string) =>
  z
    .optional(prose(128))
    .check(
      means(
        `The ${what}, of the session of a program that speaks \`acp\`. One that it does not offer fails the start.`,
      ),
    );

const document = convertBy(
  z.strictObject({
    $schema: z.optional(storable).check(means("URL of the JSON Schema, for editors. Not stored.")),
    schema: z.literal("steward.template/1").check(means("The format and its version.")),
    provisioner: matching(
      /^[a-z][a-z0-9-]{0,31}$/,
      "Must be 1 to 32 lower-case letters, digits and hyphens, a letter first.",
    ).check(
      means(
        "The provisioner type that daemons need for the jobs of the template: `echo`, `process`, or one of your own.",
      ),
    ),
    tags: z
      .prefault(tags, {})
      .check(
        means(
          "Tags that daemons must have, as well. `scope` is `organization`, or `user` for daemons of the owner of the workspace; `owner` is set by the server. At most 20.",
        ),
      ),
    variables: entriesOf(list(most.others, variable).check(unique("name"))).check(
      means("The values that administrators enter for a version of the template."),
    ),
    parameters: entriesOf(list(most.parameters, parameter).check(unique("name"), checkPatterns)).check(
      means("The values that people enter for a workspace."),
    ),
    presets: entriesOf(list(most.presets, preset).check(unique("name"))).check(
      means("Values of parameters by a name."),
    ),
    resources: entriesOf(
      list(
        most.resources,
        z.lazy(() => resourceOf(false)),
      ).check(unique("name"), checkResources),
    ).check(means("The resources that make up a workspace.")),
    ai_task: z
      .optional(
        z.strictObject({
          agent: storable.check(means("Name of its agent.")),
          app: storable.check(
            means(
              "Slug of the app. It must have a URL, at which the program is reached, unless the protocol is `acp`.",
            ),
          ),
          protocol: z
            .prefault(z.enum(["agentapi", "acp"], "Must be agentapi or acp."), "agentapi")
            .check(
              means(
                "How its program speaks: `agentapi` over HTTP at the URL of the app, or `acp`, the Agent Client Protocol, over standard input and output of the command of the agent.",
              ),
            ),
          mode: sessionOption("mode, such as `default` or `plan`"),
          model: sessionOption("model"),
          effort: sessionOption("level of effort, such as `high`"),
        }),
      )
      .check(means("The app at which tasks reach their program. Without it, there are no tasks.")),
    source: z.optional(json).check(means("Any JSON, for provisioners of your own that make resources from it.")),
  }),
  (payload) => {
    const { $schema: _, ...members } = payload.value;
    const { parameters, presets, resources, ai_task: task, source } = members;
    const agents = resources.flatMap((each) => each.agents);
    checkPresets(payload, presets, agents);
    if (task && payload.issues.length === 0) checkTask(payload, task, agents);
    const areSound = !payload.issues.some(({ path }) => path?.[0] === "parameters");
    return {
      ...members,
      presets: areSound ? presets.map((each, index) => presetIn(payload, each, parameters, index)) : [],
      source,
    };
  },
);

/** A template document with its defaults. Members are spelled as in the format. */
export type TemplateDocument = z.output<typeof document>;
type PresetMembers = z.output<typeof preset>;

/** Whether workspaces are prebuilt for a preset at some time. */
const isPrebuilt = ({ prebuilds: wanted }: PresetMembers): boolean =>
  wanted !== undefined && [wanted, ...wanted.schedules].some(({ instances }) => instances > 0);

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
  if (isPrebuilt(found))
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
    if (areExternal && isPrebuilt(each))
      addFault(payload, "Must not be used with external agents.", "presets", index, "prebuilds");
  }
}

function checkTask(
  payload: Payload<unknown>,
  task: NonNullable<TemplateDocument["ai_task"]>,
  agents: readonly DocumentAgent[],
): void {
  const agent = agents.find(({ name }) => name === task.agent);
  const app = agent?.apps.find(({ slug: name }) => name === task.app);
  if (!agent) addFault(payload, "Must be the name of an agent.", "ai_task", "agent");
  else if (!app) addFault(payload, "Must be the slug of an app of the agent.", "ai_task", "app");
  else if (task.protocol === "agentapi" && app.url === "")
    addFault(payload, "Must be an app with a URL.", "ai_task", "app");
  else if (task.protocol === "acp" && agent.command.length === 0)
    addFault(payload, "Requires a command of the agent.", "ai_task", "protocol");
  for (const name of ["mode", "model", "effort"] as const)
    if (task[name] !== undefined && task.protocol !== "acp")
      addFault(payload, "Requires the protocol acp.", "ai_task", name);
}

/** The options of the session of a task; null without. */
export function taskOptionsOf(task: TemplateDocument["ai_task"]): TaskOptions | null {
  const { mode, model, effort } = task ?? {};
  const isAny = mode !== undefined || model !== undefined || effort !== undefined;
  return isAny
    ? {
        ...(mode !== undefined && { mode }),
        ...(model !== undefined && { model }),
        ...(effort !== undefined && { effort }),
      }
    : null;
}

/** The path at which a server has the JSON Schema of documents. */
export const documentSchemaPath = "/schemas/steward.template-1.json";

/** The JSON Schema of documents. It lacks the rules for texts and for members that depend on each other. */
export const documentJsonSchema = () => ({
  ...jsonSchemaOf(document),
  title: "steward.template/1",
  description: "A version of a Steward template: what people enter, and what their workspaces are made of.",
});

/**
 * Checks the document of a template version, and adds defaults. Adds every fault to `problems`, with its path from
 * `path`, such as `document.resources[0].agents[0].name`. Returns `undefined` if there is any.
 */
export function parseDocument(value: unknown, problems: Problems, path = "document"): TemplateDocument | undefined {
  const problem = sizeProblem(value);
  problems.add(path, problem);
  if (problem !== undefined) return undefined;
  const before = problems.found.length;
  const found = validate(document, withoutNulls(value), problems, path);
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
  validate(reported, withoutNulls(resources), problems, path);

/** Members of objects that are null count as absent, except in the source. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return Object.fromEntries(entries.map(([name, each]) => [name, name === "source" ? each : withoutNulls(each)]));
}
