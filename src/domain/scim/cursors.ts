import { hash } from "node:crypto";
import { databaseTime } from "../../clock.js";
import type { Context } from "../kernel/context.js";
import type { Place } from "../kernel/paging.js";
import { fault } from "./faults.js";

/** Where a page by cursor begins, and the total when the list was begun; nothing for the first page. */
export interface Opened {
  place?: Place;
  total?: number;
}

interface Stored extends Required<Opened> {
  /** When the cursor was made, in milliseconds. */
  at: number;
  /** The hash of the query that it belongs to. */
  of: string;
}

const purpose = "scim-cursor";

const hashOf = (binding: string): string => hash("sha256", binding, "base64url");

/** Makes the cursor of the next page. It is bound to its query, signed, and can be read by all replicas. */
export function sealCursor(ctx: Context, binding: string, opened: Required<Opened>): Promise<string> {
  const stored: Stored = { ...opened, at: databaseTime(), of: hashOf(binding) };
  return ctx.services.seals.seal(purpose, Buffer.from(JSON.stringify(stored)).toString("base64url"));
}

/** Opens a cursor; "" begins a list. Throws `invalidCursor` for a foreign one and `expiredCursor` for an old one. */
export async function openCursor(ctx: Context, text: string, binding: string): Promise<Opened> {
  if (text === "") return {};
  const sealed = await ctx.services.seals.open(purpose, text);
  if (sealed === undefined) throw fault("invalidCursor", "The cursor is not valid.", "cursor");
  const { at, of, ...opened } = JSON.parse(Buffer.from(sealed, "base64url").toString()) as Stored;
  if (of !== hashOf(binding)) throw fault("invalidCursor", "The cursor is that of another query.", "cursor");
  if (databaseTime() - at > ctx.config.scimCursorTtl) throw fault("expiredCursor", "The cursor has expired.", "cursor");
  return opened;
}
