import { quote } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";

/** The names to which texts of a document may refer. */
export interface Referable {
  provisioner: unknown;
  parameters: ReadonlySet<unknown>;
  variables: ReadonlySet<unknown>;
}

/** The names of parameters, variables, and ports. */
export const referenceName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const ofWorkspace = new Set(["id", "name", "owner", "owner_id"]);
const ofTask = new Set(["id", "prompt"]);

// `$${` is a literal `${`. A reference without its closing brace is a fault, too.
const references = /\$\$\{|\$\{([^{}]*)(\}?)/g;

/** Lists the faults of a text: its references that a daemon could not replace. */
export function referenceFaults(text: string, referable: Referable): ReadonlySet<string> {
  const faults = new Set<string>();
  for (const [whole, name, end] of text.matchAll(references)) {
    if (name === undefined) continue;
    if (end === "") faults.add(`The reference ${quote(whole)} lacks its closing brace.`);
    else if (!isKnown(name, referable)) faults.add(`There is no ${quote(whole)} to refer to.`);
  }
  return faults;
}

/** The paths of the texts in which daemons replace references. */
const templatePath =
  /^(\w+\.)*resources\[\d+\]\.(metadata\[\d+\]\.value|limits\.(memory|cpus|processes)|agents\[\d+\]\.(directory|env\.[^]*|command\[\d+\]|apps\[\d+\]\.(healthcheck\.)?url))$/;

export const isTemplate = (path: string): boolean => templatePath.test(path);

/** The texts of resources in which daemons replace references, with their paths from `path`. */
export function* templatesIn(value: unknown, path: string): Generator<{ text: string; path: string }> {
  if (typeof value === "string") {
    if (isTemplate(path)) yield { text: value, path };
  } else if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) yield* templatesIn(each, `${path}[${index}]`);
  } else if (isObject(value)) {
    for (const [name, each] of Object.entries(value)) yield* templatesIn(each, `${path}.${name}`);
  }
}

function isKnown(reference: string, { provisioner, parameters, variables }: Referable): boolean {
  const dot = reference.indexOf(".");
  const space = reference.slice(0, dot);
  const name = reference.slice(dot + 1);
  switch (space) {
    case "param":
      return parameters.has(name);
    case "var":
      return variables.has(name);
    case "workspace":
      return ofWorkspace.has(name);
    case "task":
      return ofTask.has(name);
    case "port":
      return provisioner === "process" && referenceName.test(name);
    case "host":
      return provisioner === "process" && name === "address";
    default:
      return false;
  }
}

/** Whether a text has references, and is therefore only known when a daemon has replaced them. */
export const hasReferences = (text: string): boolean =>
  [...text.matchAll(references)].some(([, name]) => name !== undefined);

/** Whether `rendered` is a text of a document in which references were replaced. Takes linear time. */
export function isRenderingOf(text: string, rendered: string): boolean {
  const literals = literalsOf(text);
  const [first = "", ...others] = literals;
  const last = others.pop();
  if (last === undefined) return rendered === first;
  if (!rendered.startsWith(first) || !rendered.endsWith(last)) return false;
  const end = rendered.length - last.length;
  let at = first.length;
  for (const literal of others) {
    const found = rendered.indexOf(literal, at);
    if (found < 0) return false;
    at = found + literal.length;
  }
  return at <= end;
}

/** The names of the variables to which a text refers. */
export const variablesIn = (text: string): string[] =>
  [...text.matchAll(references)].flatMap(([, name]) => (name?.startsWith("var.") ? [name.slice("var.".length)] : []));

/** The literal parts of a text between its references. */
function literalsOf(text: string): string[] {
  const literals: string[] = [];
  let literal = "";
  let at = 0;
  for (const { 0: whole, 1: name, index } of text.matchAll(references)) {
    literal += text.slice(at, index);
    at = index + whole.length;
    if (name === undefined) literal += "${";
    else literal = (literals.push(literal), "");
  }
  return [...literals, literal + text.slice(at)];
}
