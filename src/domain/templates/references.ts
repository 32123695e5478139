import { quote } from "../kernel/errors.js";
import type { Place } from "./document-reader.js";

/** What the texts of a document may refer to. */
export interface Referable {
  provisioner: string;
  parameters: ReadonlySet<string>;
  variables: ReadonlySet<string>;
}

/** The names of parameters, variables, and ports. */
export const referenceName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

const ofWorkspace = new Set(["id", "name", "owner", "owner_id"]);
const ofTask = new Set(["id", "prompt"]);

// `$${` is a literal `${`. A reference without its closing brace is a fault, too.
const references = /\$\$\{|\$\{([^{}]*)(\}?)/g;

/** Adds a fault for each reference of a text that a daemon could not replace. */
export function checkReferences(text: string, place: Place, referable: Referable): void {
  const unknown = new Set<string>();
  for (const [whole, name, end] of text.matchAll(references)) {
    if (name === undefined) continue;
    if (end === "") unknown.add(`The reference ${quote(whole)} lacks its closing brace.`);
    else if (!isKnown(name, referable)) unknown.add(`There is no ${quote(whole)} to refer to.`);
  }
  for (const fault of unknown) place.fault(fault);
}

function isKnown(reference: string, { provisioner, parameters, variables }: Referable): boolean {
  const dot = reference.indexOf(".");
  const [space, name] = [reference.slice(0, dot), reference.slice(dot + 1)];
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

/** The literal parts of a text between its references. */
function literalsOf(text: string): string[] {
  const literals: string[] = [];
  let [literal, at] = ["", 0];
  for (const { 0: whole, 1: name, index } of text.matchAll(references)) {
    literal += text.slice(at, index);
    at = index + whole.length;
    if (name === undefined) literal += "${";
    else literal = (literals.push(literal), "");
  }
  return [...literals, literal + text.slice(at)];
}
