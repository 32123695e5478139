import { type GraphQLField } from "graphql";
import { Extensions } from "type-graphql";
import type { Permission } from "../domain/authorization.js";

/**
 * What a credential's scopes must cover before an operation that selects this field runs. Scopes only narrow: whether
 * the caller holds the permission is decided by the domain. Fields without it ask for a signed-in caller alone.
 */
export const Needs = (...needs: Permission[]) => Extensions({ needs });

/** Marks a root field that anybody may ask for, signed in or not. */
export const Open = () => Extensions({ open: true });

/** Marks the field of an entry type that a wire map uses as its key: REST spells `[{key, …}]` as `{"<key>": …}`. */
export const EntryKey = (field: string) => Extensions({ entryKey: field });

export const neededBy = (field: GraphQLField<unknown, unknown>): readonly Permission[] =>
  (field.extensions.needs as Permission[] | undefined) ?? [];

export const isOpen = (field: GraphQLField<unknown, unknown>): boolean => field.extensions.open === true;
