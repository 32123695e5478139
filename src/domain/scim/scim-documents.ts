import { DomainError, Problems } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { textProblem, truthOf } from "../../runtime/text.js";
import type { Values } from "./evaluate.js";
import { fault } from "./faults.js";
import { attributeNamed, requireSafe } from "./paths.js";
import { type Attribute, commonAttributes, type ResourceType } from "./schema.js";

/** A JSON object as a client sent it. */
export type Json = Readonly<Record<string, unknown>>;

const limits = { depth: 32, text: 8 * 1024, values: 100, bytes: 64 * 1024 } as const;

/** Maximum length of each text of a document, in bytes. */
export const longestText = limits.text;

/** Maximum length of the path of a fault, in characters: names in documents may be long. */
const longestPath = 300;

/**
 * Throws for a document that is nested too deeply, has a name that could reach a prototype (`invalidPath`), or has text
 * that is too long or cannot be stored. Walks it without recursion.
 */
export function checkDocument(document: Json): void {
  let level: Array<[value: unknown, path: string]> = [[document, ""]];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limits.depth)
      throw fault("invalidSyntax", `The document is nested deeper than ${limits.depth} levels.`);
    const next: typeof level = [];
    for (const [value, path] of level) {
      if (typeof value === "string") checkText(value, path);
      if (typeof value !== "object" || value === null) continue;
      const isList = Array.isArray(value);
      for (const [key, each] of Object.entries(value as Json)) {
        if (!isList) requireSafe(key);
        if (typeof each !== "object" && typeof each !== "string") continue;
        next.push([each, isList ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`]);
      }
    }
    level = next;
  }
}

function checkText(text: string, path: string): void {
  const isLong = Buffer.byteLength(text) > limits.text;
  const problem = textProblem(text) ?? (isLong ? `Must be at most ${limits.text} bytes long.` : undefined);
  if (problem) throw fault("invalidValue", problem, path.slice(0, longestPath) || undefined);
}

/**
 * The value of a key in any letter case. The exact spelling counts first.
 */
export function member(object: Json, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const lower = name.toLowerCase();
  const key = Object.keys(object).find((each) => each.toLowerCase() === lower);
  return key === undefined ? undefined : object[key];
}

/**
 * Reads a resource: the writable attributes in canonical spelling. Attributes of the core schema may be nested under its
 * URN. Ignores readOnly and unknown attributes. Throws every fault, as `invalidValue`.
 */
export function readResource(type: ResourceType, document: Json): Values {
  checkDocument(document);
  checkSchemas(type, document);
  const problems = new Problems();
  const values: Values = {};
  const nested = member(document, type.core.id);
  for (const source of [nested, document])
    if (isObject(source)) readAttributes([...commonAttributes, ...type.core.attributes], source, values, "", problems);
  for (const { id, attributes } of type.extensions) {
    const extension = member(document, id);
    if (extension == null) continue;
    if (!isObject(extension)) problems.add(id, "Must be an object.");
    else {
      const found = readAttributes(attributes, extension, {}, `${id}:`, problems);
      if (Object.keys(found).length > 0) values[id] = found;
    }
  }
  throwFaults(problems);
  return values;
}

/** Throws all faults of values, as `invalidValue`. */
export function throwFaults(problems: Problems): void {
  try {
    problems.throwIfAny();
  } catch (error) {
    const { code, message, details } = error as DomainError;
    throw new DomainError(code, message, { ...details, scimType: "invalidValue" });
  }
}

/** Throws `invalidSyntax` if the document states its schemas without that of the resource type. */
function checkSchemas(type: ResourceType, document: Json): void {
  const stated = member(document, "schemas");
  if (stated == null) return;
  const isText = Array.isArray(stated) && stated.every((each) => typeof each === "string");
  if (!isText) throw fault("invalidSyntax", "The schemas must be a list of URNs.", "schemas");
  if (!stated.some((urn: string) => urn.toLowerCase() === type.core.id.toLowerCase()))
    throw fault("invalidSyntax", `The schemas must contain ${type.core.id}.`, "schemas");
}

/** Whether clients can write an attribute that is kept: once, if it is immutable. */
const isWritable = ({ mutability }: Attribute): boolean => mutability === "readWrite" || mutability === "immutable";

function readAttributes(
  attributes: readonly Attribute[],
  source: Json,
  into: Values,
  prefix: string,
  problems: Problems,
): Values {
  for (const [key, given] of Object.entries(source)) {
    const attribute = attributeNamed(attributes, key);
    if (!attribute || !isWritable(attribute)) continue;
    const value = readValue(attribute, given, prefix + attribute.name, problems);
    if (value === undefined) delete into[attribute.name];
    else into[attribute.name] = value;
  }
  return into;
}

/** Reads the value of an attribute; `undefined` where there is none: null, "", and objects and lists without values. */
export function readValue(attribute: Attribute, given: unknown, path: string, problems: Problems): unknown {
  if (!attribute.isMultiValued) return readSingle(attribute, given, path, problems);
  if (given == null || given === "") return undefined;
  const list: unknown[] = Array.isArray(given) ? given : [given];
  if (attribute.name !== "members" && list.length > limits.values)
    problems.add(path, `Must be at most ${limits.values} values.`);
  const isList = Array.isArray(given);
  const values = list
    .map((each, index) => readEntry(attribute, each, isList ? `${path}[${index}]` : path, problems))
    .filter((each) => each !== undefined);
  return values.length > 0 ? withOnePrimary(values as Values[]) : undefined;
}

/** Reads one of several values, which has the required sub-attributes. */
function readEntry(attribute: Attribute, given: unknown, path: string, problems: Problems): unknown {
  const entry = readSingle(attribute, given, path, problems);
  const isAsked = given == null || given === "" || isObject(given);
  for (const { name, isRequired } of (isAsked && attribute.subAttributes) || [])
    if (isRequired && (entry as Values | undefined)?.[name] === undefined)
      problems.add(`${path}.${name}`, "Is required.");
  return entry;
}

/** Keeps `primary` on the first value that has it. */
function withOnePrimary(values: Values[]): Values[] {
  const first = values.find(({ primary }) => primary === true);
  for (const each of values) if (each !== first && each.primary === true) each.primary = false;
  return values;
}

function readSingle(attribute: Attribute, given: unknown, path: string, problems: Problems): unknown {
  if (given == null || given === "") return undefined;
  switch (attribute.type) {
    case "complex":
      return readComplex(attribute, given, path, problems);
    case "boolean": {
      const isText = typeof given === "string" && /^(true|false)$/i.test(given);
      if (typeof given !== "boolean" && !isText) problems.add(path, "Must be true or false.");
      return isText ? truthOf(given) : given;
    }
    default:
      problems.add(path, typeof given === "string" ? undefined : "Must be a string.");
      return given;
  }
}

/** A scalar stands for the sub-attribute `value`; a list of one for its element, where clients send such lists. */
function readComplex(
  { subAttributes = [], isListable = false }: Attribute,
  given: unknown,
  path: string,
  problems: Problems,
) {
  const value = attributeNamed(subAttributes, "value");
  const single = isListable && Array.isArray(given) && given.length <= 1 ? (given[0] as unknown) : given;
  if (single == null || single === "") return undefined;
  const isScalar = typeof single === "string" && value !== undefined;
  if (!isScalar && !isObject(single))
    return problems.add(path, isListable ? "Must be one object." : "Must be an object.");
  const source = isScalar ? { value: single } : (single as Json);
  const found = {};
  readAttributes(subAttributes, source, found, `${path}.`, problems);
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Throws `invalidValue` if what is kept of a resource is too large. */
export function checkSize(kept: Values): void {
  if (Buffer.byteLength(JSON.stringify(kept)) > limits.bytes)
    throw fault("invalidValue", `The attributes must be at most ${limits.bytes} bytes together.`);
}
