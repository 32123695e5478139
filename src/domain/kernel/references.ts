import type { Context } from "./context.js";
import { isUuid } from "./text.js";

/** Resolves a reference to an id. Returns an id unchanged, known or not; resolves a name by `find`. */
export const idNamed = async (
  ctx: Context,
  reference: string,
  find: (ctx: Context, name: string) => Promise<{ id: string }>,
): Promise<string> => (isUuid(reference) ? reference : (await find(ctx, reference)).id);
