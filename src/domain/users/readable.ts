import type { Context } from "../kernel/context.js";
import { reach } from "../authorization/authorization.js";

/** Whether the caller may read the user `u`, by the values of `readableUsers` from parameter `first` on. */
export const isReadable = (u: string, first: number): string => `(
  $${first}::boolean or ${u}.id = $${first + 1}::uuid or exists(
    select from organization_members m where m.user_id = ${u}.id and m.organization_id = any($${first + 2}::uuid[])))`;

/** The values of `isReadable`. */
export function readableUsers({ actor }: Context): unknown[] {
  const { everywhere, own, organizations } = reach(actor, "user:read");
  return [everywhere, own ? actor.userId : null, organizations];
}
