import { hash } from "node:crypto";
import { type Expression, sql } from "kysely";
import { versionMismatch } from "./faults.js";

/** The values that the ETag of a resource depends on. */
export interface Versioned {
  /**
   * Raised with each change of the resource itself; of a group, with each change of its members or their names, too.
   */
  version: number;
  /** The groups of a user, which change without the user. */
  groups?: ReadonlyArray<{ value: string; display: string }>;
}

const digestLength = 16;

/** The ETag of a resource. Weak: the same version may be written in different ways. */
export function versionTag({ version, groups = [] }: Versioned): string {
  const text = groups.map(({ value, display }) => `${value} ${display}`).join("\n");
  return `W/"${version}${text && `-${hash("sha256", text, "hex").slice(0, digestLength)}`}"`;
}

/** `versionTag` in SQL, for filters. `groups` is JSON. */
export const versionColumn = (version: Expression<unknown>, groups: Expression<unknown>) => sql<string>`
  'W/"' || ${version} || coalesce('-' || (
    select left(encode(sha256(convert_to(
      string_agg((d->>'value') || ' ' || (d->>'display'), E'\n' order by n), 'UTF8')), 'hex'), ${digestLength})
    from json_array_elements(${groups}) with ordinality as listed (d, n)
  ), '') || '"'`;

/** Throws if a resource has none of the versions. */
export function requireVersion(resource: Versioned, ifMatch: string | null | undefined): void {
  if (ifMatch != null && !hasVersion(resource, ifMatch)) throw versionMismatch();
}

/** Whether tags separated by commas, or `*`, name the version of a resource. Compares weakly (RFC 9110 §8.8.3.2). */
export const hasVersion = (resource: Versioned, tags: string): boolean =>
  tags.split(",").some((tag) => {
    const opaque = tag.trim().replace(/^W\//i, "");
    return opaque === "*" || opaque === versionTag(resource).slice(2);
  });
