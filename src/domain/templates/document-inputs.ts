import { described, description, label, most } from "./document-parts.js";
import {
  checkUnique,
  list,
  map,
  matching,
  object,
  oneOf,
  optional,
  otherwise,
  type Place,
  type Read,
  type ReadBy,
  required,
  text,
  truth,
  whole,
} from "./document-reader.js";
import { referenceName } from "./references.js";
import {
  parameterTypes,
  patternProblem,
  textOf,
  typeProblem,
  valueProblem,
  type ValueType,
  variableTypes,
} from "./values.js";

// What people enter for a version or a workspace: variables, parameters, and presets.

const inputName = matching(
  referenceName,
  "Must be 1 to 64 letters, digits, hyphens and underscores that do not begin with a digit or hyphen.",
);

/** Reads a value whose type depends on another member. */
const anyValue: Read<unknown> = (value) => value;

/** Converts a value to the text by which it is stored and sent. Adds a fault for a value of another type. */
function textIn(type: ValueType, value: unknown, place: Place): string {
  const found = textOf(type, value);
  const problem = found === undefined ? `Must be a ${type}.` : typeProblem(type, found);
  place.check(problem);
  return problem === undefined ? found! : "";
}

const rawVariable = object({
  name: required(inputName),
  ...description,
  type: otherwise("string", oneOf(...variableTypes)),
  default: optional(anyValue),
  sensitive: otherwise(false, truth),
});

export type DocumentVariable = Omit<ReadBy<typeof rawVariable>, "default"> & {
  /** Absent if a value is required. */
  default: string | undefined;
};

export const variable: Read<DocumentVariable> = (value, place) => {
  const found = rawVariable(value, place);
  const absent = found.default === undefined;
  return { ...found, default: absent ? undefined : textIn(found.type, found.default, place.member("default")) };
};

const rawOption = object({ name: required(label), value: required(anyValue), ...described });

const number: Read<number> = (value, place) => {
  if (Number.isFinite(value)) return value as number;
  place.fault("Must be a number.");
  return 0;
};

const validation = object({
  regex: otherwise("", text(patternProblem)),
  error: otherwise("", description.description.read),
  min: optional(number),
  max: optional(number),
  monotonic: optional(oneOf("increasing", "decreasing")),
});

const rawParameter = object({
  name: required(inputName),
  ...described,
  type: otherwise("string", oneOf(...parameterTypes)),
  default: optional(anyValue),
  mutable: otherwise(true, truth),
  ephemeral: otherwise(false, truth),
  options: otherwise([], list(most.others, rawOption)),
  validation: optional(validation),
});

type RawParameter = ReadBy<typeof rawParameter>;
type RawOption = ReadBy<typeof rawOption>;

export type DocumentParameter = Omit<RawParameter, "default" | "options"> & {
  /** Absent if a value is required. */
  default: string | undefined;
  options: Array<Omit<RawOption, "value"> & { value: string }>;
};

export const parameter: Read<DocumentParameter> = (value, place) => {
  const faults = place.faults;
  const found = rawParameter(value, place);
  const { type } = found;
  const elementType = type === "list" ? "string" : type;
  const options = found.options.map((option, index) => {
    const here = place.member("options").item(index).member("value");
    return { ...option, value: textIn(elementType, option.value, here) };
  });
  checkUnique(options, "name", place.member("options"));
  checkUnique(options, "value", place.member("options"));
  checkValidation(found, place.member("validation"));
  const given = { ...found, options, default: undefined };
  const hasFaults = place.faults > faults;
  return { ...given, default: defaultOf(found, hasFaults ? undefined : given, place.member("default")) };
};

/** Reads the default of a parameter; `rules` are absent if they are faulty. */
function defaultOf(found: RawParameter, rules: DocumentParameter | undefined, place: Place): string | undefined {
  if (found.default === undefined) {
    // Builds that no user starts have no other value for it.
    if (found.ephemeral) place.fault("Is required for an ephemeral parameter.");
    return undefined;
  }
  const faults = place.faults;
  const value = textIn(found.type, found.default, place);
  if (rules && place.faults === faults) place.check(valueProblem(rules, value));
  return value;
}

function checkValidation({ type, validation: rules }: RawParameter, place: Place): void {
  if (!rules) return;
  const { regex, min, max, monotonic } = rules;
  if (regex !== "" && type !== "string") place.member("regex").fault("Is only for strings.");
  if (type !== "number")
    for (const [name, value] of Object.entries({ min, max, monotonic }))
      if (value !== undefined) place.member(name).fault("Is only for numbers.");
  if (min !== undefined && max !== undefined && min > max) place.member("max").fault("Must not be less than min.");
}

const prebuilds = object({
  instances: otherwise(0, whole(0, 50)),
  /** Seconds after which an unclaimed workspace is replaced; 0 for none. */
  ttl_seconds: otherwise(0, whole(0, 31_536_000)),
});

const rawPreset = object({
  name: required(label),
  ...described,
  default: otherwise(false, truth),
  parameters: otherwise(
    {},
    map(most.parameters, () => undefined, anyValue),
  ),
  prebuilds: optional(prebuilds),
});

export type DocumentPreset = Omit<ReadBy<typeof rawPreset>, "parameters"> & { parameters: Record<string, string> };

/** Reads presets. `parameters` are those of the document; if they are faulty, their values cannot be checked. */
export const presetOf = (parameters: readonly DocumentParameter[], areSound: boolean): Read<DocumentPreset> => {
  const known = new Map(parameters.map((each) => [each.name, each]));
  return (value, place) => {
    const found = rawPreset(value, place);
    if (!areSound) return { ...found, parameters: {} };
    const values = Object.entries(found.parameters).map(([name, given]): [string, string] => {
      const [here, rules] = [place.member("parameters").member(name), known.get(name)];
      if (!rules) here.fault("Is not a parameter of the document.");
      return [name, rules ? valueIn(rules, given, here) : ""];
    });
    const preset = { ...found, parameters: Object.fromEntries(values) };
    if (found.prebuilds && found.prebuilds.instances > 0) checkPrebuildable(preset, parameters, place);
    return preset;
  };
};

function valueIn(rules: DocumentParameter, given: unknown, place: Place): string {
  const value = textOf(rules.type, given);
  place.check(value === undefined ? `Must be a ${rules.type}.` : valueProblem(rules, value));
  return value ?? "";
}

/** Checks that prebuilt workspaces, for which no user enters values, have a value of each parameter. */
function checkPrebuildable(preset: DocumentPreset, parameters: readonly DocumentParameter[], place: Place): void {
  for (const { name, default: value } of parameters)
    if (value === undefined && !Object.hasOwn(preset.parameters, name))
      place.member("parameters").member(name).fault("Is required for prebuilds: the parameter has no default.");
}
