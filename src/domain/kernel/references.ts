import { badInput } from "./errors.js";

/** The one reference that a caller gave, where an object can be named in several ways. */
export function onlyReference(ways: Record<string, string | null | undefined>): string {
  const [given, ...more] = Object.values(ways).filter((value) => value != null);
  if (given !== undefined && more.length === 0) return given;
  const names = Object.keys(ways);
  throw badInput(names.map((field) => ({ field, detail: `Exactly one of ${names.join(" and ")} must be given.` })));
}
