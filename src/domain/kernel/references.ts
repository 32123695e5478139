import type { Context } from "./context.js";
import { badInput } from "./errors.js";
import { isUuid } from "./text.js";

/** Returns the one reference that is given among alternatives. Throws BAD_USER_INPUT unless it is exactly one. */
export function onlyReference(ways: Record<string, string | null | undefined>): string {
  const [given, ...more] = Object.values(ways).filter((value) => value != null);
  if (given !== undefined && more.length === 0) return given;
  const names = Object.keys(ways);
  throw badInput(names.map((field) => ({ field, detail: `Exactly one of ${names.join(" and ")} must be given.` })));
}

/** Resolves a reference to an id. Returns an id unchanged, known or not; resolves a name by `find`. */
export const idNamed = async (
  ctx: Context,
  reference: string,
  find: (ctx: Context, name: string) => Promise<{ id: string }>,
): Promise<string> => (isUuid(reference) ? reference : (await find(ctx, reference)).id);
