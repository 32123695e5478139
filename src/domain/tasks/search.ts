import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError, Problems } from "../kernel/errors.js";
import { anyText, oneOf, parseSearch } from "../kernel/search.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser } from "../users/users.js";
import { TaskStatus } from "./status.js";

const keys = { owner: anyText, organization: anyText, status: oneOf(...Object.values(TaskStatus)) };

const message = "Invalid task search query.";

/** Filters of tasks. All must match, each by any of its values. Absent ones match everything. */
export interface TaskConditions {
  ownerIds?: string[][];
  organizationIds?: string[][];
  statuses?: TaskStatus[][];
  /** Parts of names or display names. */
  words?: string[][];
}

/**
 * Reads a search query: `owner:`, `organization:` and `status:` with lists of values, and words of names. Owners and
 * organizations are ids, names, `me` or `default`. Throws BAD_USER_INPUT with all faults of `q`.
 */
export async function readTaskSearch(ctx: Context, q: string | null | undefined): Promise<TaskConditions> {
  const { words, terms } = parseSearch(q ?? "", keys, message);
  const problems = new Problems();
  const [ownerIds, organizationIds] = await Promise.all([
    idsOf(ctx, "owner", terms.owner, problems),
    idsOf(ctx, "organization", terms.organization, problems),
  ]);
  problems.throwIfAny(message);
  return { ownerIds, organizationIds, statuses: terms.status, words };
}

const finders = { owner: findUser, organization: findOrganization };

/** The ids of the objects that the terms of a key name. Missing and unreadable ones are the same fault. */
async function idsOf(
  ctx: Context,
  key: keyof typeof finders,
  terms: readonly string[][],
  problems: Problems,
): Promise<string[][]> {
  const idOf = async (ref: string): Promise<string> => {
    if (key === "owner" && ref.toLowerCase() === "me") return userIdOf(ctx.actor) ?? "";
    try {
      return (await finders[key](ctx, key === "organization" && ref.toLowerCase() === "default" ? "default" : ref)).id;
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
      problems.add("q", `The value of ${key} must be an id or a name that you can see.`);
      return "";
    }
  };
  return Promise.all(terms.map((values) => Promise.all(values.map(idOf))));
}
