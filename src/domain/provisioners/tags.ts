import type { Problems } from "../kernel/errors.js";
import { isStorable } from "../../runtime/text.js";
import { objectBy } from "../kernel/values.js";

/** Names and values by which jobs find daemons. */
export type Tags = Readonly<Record<string, string>>;

/**
 * The tags of a job or a daemon: with `scope` `user` those of one user, whose id `owner` has, otherwise those of the
 * whole organization.
 */
export const scopeTags = (tags: Tags, userId: string): Record<string, string> =>
  tags.scope === "user" ? { ...tags, owner: userId } : { ...tags, scope: "organization", owner: "" };

const mostTags = 20;
const longestKey = 64;
const longestValue = 256;

/** Tags in inputs. `tagProblems` has their rules. */
export const tagsValue = objectBy({ maxProperties: mostTags });

/** Returns tags that a caller gave, and adds their faults, each at `tags.<key>`. */
export function tagProblems(
  given: Record<string, unknown>,
  problems: Problems,
  refused: readonly string[] = [],
): Record<string, string> {
  const tags = Object.entries(given);
  if (tags.length > mostTags) problems.add("tags", `Must have at most ${mostTags} entries.`);
  for (const [key, value] of tags.slice(0, mostTags))
    problems.add(`tags.${key}`, refused.includes(key) ? "Is set by the server." : tagProblem(key, value));
  return given as Record<string, string>;
}

/** The rule that a tag violates. */
export function tagProblem(key: string, value: unknown): string | undefined {
  if (typeof value !== "string") return "Must be text.";
  if (!isStorable(key) || !isStorable(value)) return "Must be valid Unicode without NUL characters.";
  if (key === "" || key.length > longestKey) return `The key must have 1 to ${longestKey} characters.`;
  return value.length > longestValue ? `Must be at most ${longestValue} characters.` : undefined;
}
