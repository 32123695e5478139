import { isDeepStrictEqual } from "node:util";
import { matches, type Values } from "./evaluate.js";
import { fault } from "./faults.js";
import type { Filter } from "./filter.js";
import type { Operation } from "./patch-operations.js";

/** Attributes to which replacing a missing `type` adds a value, as some identity providers expect. */
const addedByType = new Set(["emails", "phoneNumbers", "addresses"]);

/** Applies operations to a copy of a resource, in order. */
export function applyOperations(resource: Values, operations: readonly Operation[]): Values {
  const copy = structuredClone(resource);
  for (const operation of operations) apply(copy, operation);
  return copy;
}

function apply(resource: Values, operation: Operation): void {
  const { extension, attribute, sub, where } = operation.target;
  const container = extension ? ((resource[extension] ??= {}) as Values) : resource;
  const before = container[attribute.name];
  if (attribute.isMultiValued) {
    const entries = Array.isArray(before) ? (before as Values[]) : [];
    set(container, attribute.name, where || sub ? chooseEntries(entries, operation) : several(entries, operation));
  } else if (sub) {
    const part: Values = { ...(before as Values | undefined) };
    set(part, sub.name, operation.op === "remove" ? undefined : operation.value);
    set(container, attribute.name, Object.keys(part).length > 0 ? part : undefined);
  } else set(container, attribute.name, single(before, operation));
  if (extension && Object.keys(container).length === 0) delete resource[extension];
}

function set(container: Values, name: string, value: unknown): void {
  const isNothing = value === undefined || (Array.isArray(value) && value.length === 0);
  if (isNothing) delete container[name];
  else container[name] = value;
}

/** The value of a single-valued attribute. Of a complex one, sub-attributes that are not given stay. */
function single(before: unknown, { op, target: { attribute }, value }: Operation): unknown {
  const isCleared = op === "remove" || value === undefined;
  if (isCleared) return attribute.name === "active" ? (op === "remove" ? false : before) : undefined;
  return attribute.type === "complex" ? { ...(before as Values | undefined), ...(value as Values) } : value;
}

/** The values of a multi-valued attribute as a whole. */
function several(entries: readonly Values[], { op, value }: Operation): Values[] {
  const given = (value ?? []) as Values[];
  if (op === "replace") return given;
  if (op === "remove") return value === undefined ? [] : entries.filter((entry) => !given.some(naming(entry)));
  const fresh = given.filter((each) => !entries.some((entry) => isDeepStrictEqual({ ...entry }, { ...each })));
  return withPrimary([...entries, ...fresh], fresh);
}

/** Whether a client means an entry: by its `value`, or without one, by all that is given. */
const naming =
  (entry: Values) =>
  ({ value, ...others }: Values): boolean =>
    value === undefined
      ? Object.entries(others).every(([name, each]) => isDeepStrictEqual(entry[name], each))
      : value === entry.value;

/** The values of a multi-valued attribute, after a change of those that a filter or a sub-attribute selects. */
function chooseEntries(entries: readonly Values[], operation: Operation): Values[] {
  const { op, target, value } = operation;
  const { attribute, sub, where } = target;
  const isCleared = op === "remove" || value === undefined;
  const found = where ? entries.filter((entry) => matches(where, entry)) : entries;
  const selected = new Set(found.length === 0 && !isCleared ? meantAsWork(entries, operation) : found);
  if (isCleared && !sub) return entries.filter((entry) => !selected.has(entry));
  const change: Values = sub ? { [sub.name]: value } : (value as Values);
  if (selected.size === 0 && !isCleared) {
    const isAdded = op === "add" || (addedByType.has(attribute.name) && namesType(where));
    if (!isAdded) throw fault("noTarget", `No value of ${attribute.name} matches the path.`);
    const entry = { ...equalities(where), ...change };
    return withPrimary([...entries, entry], [entry]);
  }
  const updated = entries.map((entry) => (selected.has(entry) ? mendEntry(entry, change) : entry));
  return withPrimary(
    updated,
    updated.filter((entry) => !entries.includes(entry)),
  );
}

/** The type of an entry in lower case; "" without one. */
const typeOf = ({ type }: Values): string => (typeof type === "string" ? type.toLowerCase() : "");

/**
 * The email that a filter for type `work` means where none has the type: the only one, or the primary one, if it has no
 * type or `other`. Some identity providers change only the work address, whatever they have created.
 */
function meantAsWork(entries: readonly Values[], { target: { attribute, where } }: Operation): Values[] {
  const isMeant = attribute.name === "emails" && where?.kind === "compare" && typeOf(equalities(where)) === "work";
  if (!isMeant || entries.some((entry) => typeOf(entry) === "work")) return [];
  const entry = entries.length === 1 ? entries[0] : entries.find(({ primary }) => primary === true);
  return entry && ["", "other"].includes(typeOf(entry)) && matches(where, { ...entry, type: "work" }) ? [entry] : [];
}

function mendEntry(entry: Values, change: Values): Values {
  const result = { ...entry };
  for (const [name, value] of Object.entries(change)) set(result, name, value);
  return result;
}

/** Clears `primary` of the other values if one of `touched` has it. */
function withPrimary(entries: Values[], touched: readonly Values[]): Values[] {
  const last = touched.findLast(({ primary }) => primary === true);
  return last ? entries.map((each) => (each === last || !each.primary ? each : { ...each, primary: false })) : entries;
}

/** Whether a filter selects by `type eq …`. */
const namesType = (filter: Filter | undefined): boolean => "type" in equalities(filter);

/** The sub-attributes that a filter of `eq` comparisons joined by `and` requires. */
function equalities(filter: Filter | undefined): Values {
  if (filter?.kind === "and") return Object.assign({}, ...filter.parts.map(equalities)) as Values;
  if (filter?.kind !== "compare" || filter.operator !== "eq" || filter.value === null) return {};
  return { [filter.target.attribute.name]: filter.value };
}
