import { Problems, quote } from "../kernel/errors.js";
import type { DocumentParameter, TemplateDocument } from "./template-documents.js";
import { monotonicProblem, typeProblem, valueProblem } from "./parameter-values.js";

/** The values from which those of a build are chosen. Values are text: numbers, truths, and lists in JSON. */
export interface ParameterSources {
  /** The values that the caller entered. */
  given?: ReadonlyArray<{ name: string; value: string }> | null;
  /** The preset that the caller chose. */
  preset?: { parameters: Readonly<Record<string, string>> } | null;
  /** The values of the previous build of the workspace. */
  previous?: Readonly<Record<string, string>> | null;
}

const valueIn = (values: Readonly<Record<string, string>> | null | undefined, name: string): string | undefined =>
  values && Object.hasOwn(values, name) ? values[name] : undefined;

/**
 * Returns the value of each parameter of a document: the given one, else that of the previous build unless the
 * parameter is ephemeral, of the preset, or the default. Adds a fault `<path>.<name>` for each value that is unknown,
 * given twice, missing, invalid, or must not change. An immutable value that the workspace already has is valid whatever the
 * options and the validation say now.
 */
export function resolveParameters(
  { parameters }: Pick<TemplateDocument, "parameters">,
  sources: ParameterSources,
  problems: Problems,
  path = "parameters",
): Record<string, string> {
  const given = givenValues(parameters, sources, problems, path);
  const values = parameters.map((parameter): [string, string] => {
    const { name, ephemeral } = parameter;
    const previous = ephemeral ? undefined : valueIn(sources.previous, name);
    const value = given.get(name) ?? previous ?? valueIn(sources.preset?.parameters, name) ?? parameter.default;
    problems.add(`${path}.${name}`, problemOf(parameter, value, previous));
    return [name, value ?? ""];
  });
  return Object.fromEntries(values);
}

function givenValues(
  parameters: readonly DocumentParameter[],
  { given }: ParameterSources,
  problems: Problems,
  path: string,
): Map<string, string> {
  const known = new Set(parameters.map(({ name }) => name));
  const values = new Map<string, string>();
  for (const { name, value } of given ?? []) {
    if (!known.has(name)) problems.add(`${path}.${name}`, `There is no parameter ${quote(name)}.`);
    else if (values.has(name)) problems.add(`${path}.${name}`, "Must be given once.");
    values.set(name, value);
  }
  return values;
}

function problemOf(
  parameter: DocumentParameter,
  value: string | undefined,
  previous: string | undefined,
): string | undefined {
  if (value === undefined) return "Is required.";
  // What a workspace was created with stays good, although a later version does not offer it any more.
  if (!parameter.mutable && value === previous) return typeProblem(parameter.type, value);
  const problem = valueProblem(parameter, value);
  if (problem !== undefined || previous === undefined) return problem;
  // A value that a later version gave another type can only be replaced.
  if (!parameter.mutable && typeProblem(parameter.type, previous) === undefined)
    return "Cannot be changed after the workspace was created.";
  return monotonicProblem(parameter, value, previous);
}
