import { foldCase } from "../../runtime/text.js";
import type { Comparison, Filter, Target } from "./filter.js";
import { leafOf } from "./paths.js";

/** A resource or a part of one, by canonical attribute names: keys are never those of a client. */
export type Values = Record<string, unknown>;

/** Whether a resource, or a value of a multi-valued attribute, matches a filter. */
export function matches(filter: Filter, values: Values): boolean {
  switch (filter.kind) {
    case "and":
      return filter.parts.every((part) => matches(part, values));
    case "or":
      return filter.parts.some((part) => matches(part, values));
    case "not":
      return !matches(filter.part, values);
    case "present":
      return valuesAt(filter.target, values).some(isPresent);
    default:
      return compares(filter, values);
  }
}

/** The values at a target: of a multi-valued attribute, those that match. */
function valuesAt({ extension, attribute, sub, where }: Target, values: Values): unknown[] {
  const container = extension ? (values[extension] as Values | undefined) : values;
  const value = container?.[attribute.name];
  const all = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const chosen = where ? all.filter((each) => matches(where, each as Values)) : all;
  return sub ? chosen.map((each) => (each as Values)[sub.name]).filter((each) => each !== undefined) : chosen;
}

const isPresent = (value: unknown): boolean => value !== "";

/** A comparison without a value is false, `ne` true. */
function compares({ target, operator, value }: Comparison, values: Values): boolean {
  const given = valuesAt(target, values);
  if (value === null) return given.some(isPresent) === (operator === "ne");
  const isExact = leafOf(target).isCaseExact;
  const foldUnlessExact = (text: unknown) => (typeof text === "string" && !isExact ? foldCase(text) : text);
  const wanted = foldUnlessExact(value);
  if (operator === "ne") return !given.some((each) => foldUnlessExact(each) === wanted);
  return given.some((each) => holds[operator](foldUnlessExact(each), wanted));
}

const inOrder = (one: unknown, other: unknown): number =>
  Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));

const holds: Record<Exclude<Comparison["operator"], "ne">, (one: unknown, other: unknown) => boolean> = {
  eq: (one, other) => one === other,
  co: (one, other) => String(one).includes(String(other)),
  sw: (one, other) => String(one).startsWith(String(other)),
  ew: (one, other) => String(one).endsWith(String(other)),
  gt: (one, other) => inOrder(one, other) > 0,
  ge: (one, other) => inOrder(one, other) >= 0,
  lt: (one, other) => inOrder(one, other) < 0,
  le: (one, other) => inOrder(one, other) <= 0,
};
