import { quote } from "../kernel/errors.js";
import { textProblem } from "../../runtime/text.js";
import { fault, type ScimType } from "./faults.js";
import { type Attribute, commonAttributes, type ResourceType, type Schema } from "./schema.js";

/** An attribute of a resource, or a sub-attribute of one. */
export interface Place {
  /** The URN of the extension that has the attribute; absent for core and common attributes. */
  readonly extension?: string;
  readonly attribute: Attribute;
  readonly sub?: Attribute;
}

/** The attribute that a place names in the end. */
export const leafOf = ({ attribute, sub }: Place): Attribute => sub ?? attribute;

/** Keys that could reach the prototype of an object. */
const unsafe = new Set(["__proto__", "prototype", "constructor"]);

/** Throws `invalidPath` for a name that could reach the prototype of an object, in any of its parts. */
export function requireSafe(name: string): void {
  if (name.split(/[.:[\]]/).some((part) => unsafe.has(part)))
    throw fault("invalidPath", `The name ${quote(name)} is not allowed.`);
}

/** Finds an attribute by name, in any letter case. */
export const attributeNamed = (attributes: readonly Attribute[] = [], name: string): Attribute | undefined =>
  attributes.find((each) => each.name.toLowerCase() === name.toLowerCase());

/** The extension with a URN, in any letter case. */
export const extensionNamed = ({ extensions }: ResourceType, urn: string): Schema | undefined =>
  extensions.find(({ id }) => id.toLowerCase() === urn.toLowerCase());

/** Splits `urn:…:User:name.givenName` into the schema and the rest; the schema is absent for plain names. */
function withoutUrn(type: ResourceType, name: string): { schema?: Schema; rest: string } {
  const lower = name.toLowerCase();
  for (const schema of [type.core, ...type.extensions])
    if (lower.startsWith(`${schema.id.toLowerCase()}:`)) return { schema, rest: name.slice(schema.id.length + 1) };
  return { rest: name };
}

/**
 * Resolves the name of an attribute, `name`, `name.sub` or either after the URN of a schema, in any letter case;
 * `undefined` if there is none.
 */
export function placeNamed(type: ResourceType, name: string): Place | undefined {
  const { schema, rest } = withoutUrn(type, name);
  const [first, second, ...others] = rest.split(".") as [string, ...string[]];
  if (others.length > 0) return undefined;
  const attribute =
    attributeNamed((schema ?? type.core).attributes, first) ??
    (schema && schema !== type.core ? undefined : attributeNamed(commonAttributes, first));
  if (!attribute) return undefined;
  const sub = second === undefined ? undefined : attributeNamed(attribute.subAttributes, second);
  if (second !== undefined && !sub) return undefined;
  const extension = schema && schema !== type.core ? schema.id : undefined;
  return { attribute, ...(extension && { extension }), ...(sub && { sub }) };
}

/** A token of a filter or path: a bracket, a quoted string, or a word. */
export interface Token {
  kind: "mark" | "string" | "word" | "end";
  text: string;
}

const tokenForm = /\s*(?:([()[\]])|("(?:[^"\\]|\\.)*")|([^\s()[\]"]+))/suy;

/** Splits a filter or path into tokens, in time proportional to its length. Throws `scimType` for other text. */
export function tokensOf(text: string, scimType: ScimType): Token[] {
  const tokens: Token[] = [];
  const end = text.trimEnd().length;
  tokenForm.lastIndex = 0;
  for (let at = 0; at < end; at = tokenForm.lastIndex) {
    const match = tokenForm.exec(text);
    if (!match) throw fault(scimType, `The text is not valid from position ${at} on.`);
    const [, mark, string, word] = match;
    if (mark !== undefined) tokens.push({ kind: "mark", text: mark });
    else if (string !== undefined) tokens.push({ kind: "string", text: unquote(string, scimType) });
    else tokens.push({ kind: "word", text: word! });
  }
  return tokens;
}

/** Reads a string, whose escapes may stand for text that cannot be stored. */
function unquote(literal: string, scimType: ScimType): string {
  let text: string;
  try {
    text = JSON.parse(literal) as string;
  } catch {
    throw fault(scimType, `The string ${quote(literal)} is not a JSON string.`);
  }
  const problem = textProblem(text);
  if (problem) throw fault(scimType, `The string ${quote(literal)}: ${problem}`);
  return text;
}
