import { type GraphQLField } from "graphql";
import { Extensions } from "type-graphql";
import type { Actor } from "../context.js";
import type { Permission } from "../domain/authorization.js";

/**
 * What a credential's scopes must cover before an operation that selects this field runs. Scopes only narrow: whether
 * the caller holds the permission is decided by the domain. Fields without it ask for a signed-in caller alone.
 */
export const Needs = (...needs: Permission[]) => Extensions({ needs });

/** Marks a root field that anybody may ask for, signed in or not. */
export const Open = () => Extensions({ open: true });

/** Whose credentials a root field takes. */
type Caller = "user" | "agent" | "proxy";

/**
 * Which credentials a root field takes, machines' among them; without it, those of users alone. A machine's credential
 * counts for nothing elsewhere, and it has no scopes: what it may do, the domain verb decides by its kind and its id.
 */
export const OpenTo = (...callers: Caller[]) => Extensions({ openTo: callers });

/** Names the account that a root field tries a secret of, out of its arguments: an e-mail, or an id. */
export type AccountOf<Args> = (args: Args, actor: Actor) => string | null | undefined;

/**
 * Counts the uses of a root field by address, and by address and account, on every surface: whoever guesses at secrets
 * gets few tries. Fields without it count by their caller.
 */
export const RateLimit = <Args>(limit: "credential", accountOf: AccountOf<Args>) =>
  Extensions({ rateLimit: { limit, accountOf } });

/** Marks the field of an entry type that a wire map uses as its key: REST spells `[{key, …}]` as `{"<key>": …}`. */
export const EntryKey = (field: string) => Extensions({ entryKey: field });

export const neededBy = (field: GraphQLField<unknown, unknown>): readonly Permission[] =>
  (field.extensions.needs as Permission[] | undefined) ?? [];

export const takes = (field: GraphQLField<unknown, unknown>, { kind }: Actor): boolean =>
  ((field.extensions.openTo as Caller[] | undefined) ?? ["user"]).includes(kind as Caller);

export const isOpen = (field: GraphQLField<unknown, unknown>): boolean => field.extensions.open === true;

/** How to name the account that a field of class `credential` tries; nothing for other fields. */
export const accountTriedBy = (field: GraphQLField<unknown, unknown>): AccountOf<unknown> | undefined =>
  (field.extensions.rateLimit as { accountOf: AccountOf<unknown> } | undefined)?.accountOf;
