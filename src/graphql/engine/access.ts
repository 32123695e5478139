import { type GraphQLField, type GraphQLNamedType } from "graphql";
import { Extensions } from "type-graphql";
import type { Actor, Credential } from "../../domain/kernel/actor.js";
import type { Need, Permission } from "../../domain/authorization/authorization.js";
import { forbidden } from "../../domain/kernel/errors.js";

/**
 * What a credential's scopes must cover before an operation that selects this field runs. Scopes only narrow: whether
 * the caller holds the permission is decided by the domain. Every root field says what it needs, by this or by one of
 * the next three: the program does not start otherwise.
 */
export const Needs = (...needs: Need[]) => Extensions({ needs });

/** Marks a root field that every credential of a user may use, however narrow its scopes. */
export const AnyScope = () => Extensions({ anyScope: true });

/** Marks a root field that takes no credential. */
export const Open = () => Extensions({ open: true });

/** What a root field needs by its arguments: more scopes, or a certain kind of credential. */
export interface Demand {
  needs?: readonly Need[];
  openTo?: readonly Caller[];
}
export type DemandOf<Args> = (args: Args) => Demand;

/** Adds what a root field needs by its arguments. It is checked before the field resolves and its transaction begins. */
export const ByArguments = <Args>(demandOf: DemandOf<Args>) => Extensions({ demandOf });

/** A kind of credential: those of users, each or all of them, and those of machines. */
type Caller = "user" | Credential["kind"] | "agent" | "proxy";

const callerNames: Record<Caller, string> = {
  user: "the credential of a user",
  session: "a session",
  token: "an API token",
  oauth: "an OAuth2 access token",
  application: "an application key",
  agent: "the token of an agent",
  proxy: "the token of a proxy",
};

/**
 * Which kinds of credentials a root field takes; without it, all of users and none of machines. What would outlive or
 * outgrow a key (passwords, e-mail addresses, ways to sign in) takes a session. Machines have no scopes: what they may
 * do, the domain verb decides by their kind and id.
 */
export const OpenTo = (...openTo: Caller[]) => Extensions({ openTo });

/**
 * Says once for an object type what a credential's scopes must cover to select its fields, from wherever they are
 * reached. `references` are selected without: they tell no more than which object is referred to.
 */
export const ReadWith = (readWith: Permission, ...references: string[]) => Extensions({ readWith, references });

/**
 * Which fields of the object behind a field are selected without the scopes that `ReadWith` asks for: those that the
 * scopes of the field itself cover, because the contract shows them there. No names: all of them, since the object is
 * the caller's own user, or made by this request.
 */
export const Covers = (...covers: string[]) => Extensions({ covers });

/** Names the account that a root field tries a secret of, out of its arguments: an e-mail, or an id. */
export type AccountOf<Args> = (args: Args, actor: Actor) => string | null | undefined;

/**
 * Counts the uses of a root field by address, and by address and account, on every surface: whoever guesses at secrets
 * gets few tries. Fields without it count by their caller.
 */
export const RateLimit = <Args>(limit: "credential", accountOf: AccountOf<Args>) =>
  Extensions({ rateLimit: { limit, accountOf } });

/**
 * Says how many objects a list without pages counts as in the cost of a document: a number, or the argument whose items
 * it has. The number is the list's bound, or its usual length where the bound is far above it. Without it, a list counts
 * as the largest page.
 */
export const CountsAs = (items: number | { argument: string }) => Extensions({ countsAs: items });

/**
 * States the domain's rule for a number. A value that its type does not take is reported with this rule, not with the
 * range of the type.
 */
export const Rule = (rule: string) => Extensions({ rule });

/** Marks the field of an entry type that a wire map uses as its key: REST spells `[{key, …}]` as `{"<key>": …}`. */
export const EntryKey = (field: string) => Extensions({ entryKey: field });

type Field = GraphQLField<unknown, unknown>;

/** What a field itself needs, whatever is selected of the object behind it. */
export const neededBy = ({ extensions }: Field): readonly Need[] => (extensions.needs as Need[] | undefined) ?? [];

/** What a field needs as a part of its type, where `leading` leads to the object. */
export function neededToRead(type: GraphQLNamedType, field: Field, leading: Field | undefined): readonly Need[] {
  const readWith = type.extensions.readWith as Permission | undefined;
  if (readWith === undefined || referencesOf(type).includes(field.name)) return [];
  const coversAll = leading?.extensions.covers !== undefined && coveredBy(leading).length === 0;
  return coversAll || (leading && coveredBy(leading).includes(field.name)) ? [] : [readWith];
}

/** The fields of a type that are selected without its scope. */
export const referencesOf = ({ extensions }: GraphQLNamedType): readonly string[] =>
  (extensions.references as string[] | undefined) ?? [];

/** The fields of the object behind a field that its own scopes cover, where it names them. */
export const coveredBy = ({ extensions }: Field): readonly string[] =>
  (extensions.covers as string[] | undefined) ?? [];

const callersOf = ({ extensions }: Field): readonly Caller[] => (extensions.openTo as Caller[] | undefined) ?? ["user"];

const isMachine = (caller: Caller) => caller === "agent" || caller === "proxy";

/** Whether a root field takes callers like this one at all: users, or this kind of machine. */
export const takes = (field: Field, { kind }: Actor): boolean =>
  callersOf(field).some((caller) => (isMachine(caller) ? caller === kind : kind === "user"));

/** Throws FORBIDDEN for a user whose credential is of a kind that the root field does not take. */
export const requireKind = (field: Field, actor: Actor): void => requireOneOf(callersOf(field), actor);

/** The same for kinds that are given. */
export function requireOneOf(callers: readonly Caller[], { kind, credential }: Actor): void {
  if (kind !== "user" || callers.includes("user") || (credential && callers.includes(credential.kind))) return;
  const wanted = callers.map((caller) => callerNames[caller]).join(" or ");
  const sent = credential ? callerNames[credential.kind] : "this credential";
  throw forbidden("Forbidden.", { detail: `This operation takes ${wanted}; ${sent} cannot be used for it.` });
}

export const isOpen = (field: Field): boolean => field.extensions.open === true;

/** Whether a root field says which scopes it needs. */
export const declaresScopes = (field: Field): boolean =>
  isOpen(field) ||
  field.extensions.anyScope === true ||
  neededBy(field).length > 0 ||
  field.extensions.demandOf !== undefined ||
  callersOf(field).every(isMachine);

/** What a root field needs by its arguments; nothing for most fields. */
export const demandOf = (field: Field): DemandOf<unknown> | undefined =>
  field.extensions.demandOf as DemandOf<unknown> | undefined;

/** How many objects a list counts as, where that is declared. */
export function countedAs({ extensions }: GraphQLField<unknown, unknown>, args: Record<string, unknown>) {
  const items = extensions.countsAs as number | { argument: string } | undefined;
  if (typeof items !== "object") return items;
  const given = args[items.argument];
  return Array.isArray(given) ? given.length : 1;
}

/** How to name the account that a field of class `credential` tries; nothing for other fields. */
export const accountTriedBy = (field: Field): AccountOf<unknown> | undefined =>
  (field.extensions.rateLimit as { accountOf: AccountOf<unknown> } | undefined)?.accountOf;
