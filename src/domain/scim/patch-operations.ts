import { DomainError, Problems, quote } from "../kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { checkDocument, type Json, member, readValue, throwFaults } from "./scim-documents.js";
import { fault } from "./faults.js";
import { parsePath, type Target } from "./filter.js";
import { extensionNamed } from "./paths.js";
import type { Attribute, ResourceType } from "./schema.js";

/** A change of one attribute. Changes without a path are one operation for each of their attributes. */
export interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly target: Target;
  /** In canonical spelling; `undefined` for no value. */
  readonly value: unknown;
}

const most = 1000;

/** Reads the operations of a change (RFC 7644 §3.5.2). Accepts keys and operations in any letter case. */
export function readOperations(type: ResourceType, document: Json): Operation[] {
  checkDocument(document);
  const list = member(document, "Operations");
  if (!Array.isArray(list)) throw fault("invalidSyntax", "The body must have a list of operations.", "Operations");
  if (list.length > most) throw fault("tooMany", `A change must have at most ${most} operations.`);
  const problems = new Problems();
  const operations = list.flatMap((given) => readOperation(type, given, problems));
  throwFaults(problems);
  return operations;
}

function readOperation(type: ResourceType, given: unknown, problems: Problems): Operation[] {
  if (!isObject(given)) throw fault("invalidSyntax", "An operation must be an object.", "Operations");
  const op = String(member(given, "op")).toLowerCase();
  if (op !== "add" && op !== "replace" && op !== "remove")
    throw fault("invalidSyntax", `There is no operation ${quote(op)}.`, "op");
  const path = member(given, "path");
  const value = member(given, "value");
  if (path != null && typeof path !== "string") throw fault("invalidPath", "A path must be a string.", "path");
  if (path) return readPath(type, op, path, value, problems);
  if (op === "remove") throw fault("noTarget", "The operation remove needs a path.", "path");
  if (!isObject(value)) throw fault("invalidValue", "Without a path, the value must be an object.", "value");
  return fromMap(type, op, value, "", problems);
}

function readPath(type: ResourceType, op: Operation["op"], path: string, given: unknown, problems: Problems) {
  if (op !== "remove" && given === undefined)
    throw fault("invalidValue", `The operation ${op} needs a value.`, "value");
  const extension = extensionNamed(type, path);
  if (extension && op === "remove")
    return extension.attributes.map((attribute) => ({
      op,
      target: { extension: extension.id, attribute },
      value: undefined,
    }));
  if (extension && isObject(given)) return fromMap(type, op, given, `${extension.id}:`, problems);
  const target = parsePath(type, path);
  if (isReadOnly(target)) throw fault("mutability", `The attribute ${target.attribute.name} is read-only.`, path);
  if (target.attribute.mutability === "writeOnly") return [];
  const value = valueFor(target, given, problems);
  // To remove an empty list of values is to remove none of them.
  const isNone = op === "remove" && given != null && value === undefined && target.attribute.isMultiValued;
  return [{ op, target, value: isNone ? [] : value }];
}

const isReadOnly = ({ attribute, sub }: Target): boolean =>
  attribute.mutability === "readOnly" || sub?.mutability === "readOnly";

/**
 * Reads the attributes of a map: by name, by path, and maps of extensions by URN. `prefix` is the URN of the extension
 * whose attributes these are. Skips names that are unknown or readOnly.
 */
function fromMap(type: ResourceType, op: Operation["op"], map: Json, prefix: string, problems: Problems): Operation[] {
  return Object.entries(map).flatMap(([key, given]): Operation[] => {
    const isSchema = extensionNamed(type, key) ?? (key.toLowerCase() === type.core.id.toLowerCase() && type.core);
    if (isSchema && isObject(given))
      return fromMap(type, op, given, isSchema === type.core ? "" : `${isSchema.id}:`, problems);
    const target = knownPath(type, prefix + key);
    if (!target || target.attribute.mutability !== "readWrite" || isReadOnly(target)) return [];
    return [{ op, target, value: valueFor(target, given, problems) }];
  });
}

/** The target of a path; `undefined` for names that are not known. */
function knownPath(type: ResourceType, path: string): Target | undefined {
  try {
    return parsePath(type, path);
  } catch (error) {
    if (error instanceof DomainError && error.details.scimType === "invalidPath") return undefined;
    throw error;
  }
}

/** Reads a value for a target. A value for the values that match a filter is a single one. */
function valueFor({ extension, attribute, sub, where }: Target, given: unknown, problems: Problems): unknown {
  const prefix = extension ? `${extension}:` : "";
  if (sub) return readValue(sub, given, `${prefix}${attribute.name}.${sub.name}`, problems);
  const single: Attribute = where ? { ...attribute, isMultiValued: false } : attribute;
  const isLone = where && Array.isArray(given) && given.length === 1;
  return readValue(single, isLone ? given[0] : given, prefix + attribute.name, problems);
}

/** The operations that replace the attributes of a resource that a document has. Required ones without a value stay. */
export function replacing(type: ResourceType, document: Json): Operation[] {
  checkDocument(document);
  const problems = new Problems();
  const operations = fromMap(type, "replace", document, "", problems);
  throwFaults(problems);
  return operations.filter(({ target, value }) => value !== undefined || !target.attribute.isRequired);
}
