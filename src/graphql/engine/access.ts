import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLType,
} from "graphql";
import { Extensions } from "type-graphql";
import type { Actor, Credential, MachineActor } from "../../domain/kernel/actor.js";
import { isMachine, type Need, type Permission } from "../../domain/authorization/authorization.js";
import type { Context } from "../../domain/kernel/context.js";
import { forbidden } from "../../domain/kernel/errors.js";
import type { Watch } from "../../domain/kernel/watching.js";

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

/** A kind of credential: any of a user, one kind of a user's, or the token of a kind of machine. */
type Caller = "user" | Credential["kind"] | MachineActor["kind"];

const callerNames: Record<Caller, string> = {
  user: "the credential of a user",
  session: "a session",
  token: "an API token",
  oauth: "an OAuth2 access token",
  application: "an application key",
  agent: "the token of an agent",
  provisioner: "the key of a provisioner",
  proxy: "the token of a proxy",
  scim_key: "a SCIM key",
};

/**
 * Which kinds of credentials a root field takes; without it, all of users and none of machines. What would outlive or
 * outgrow a key (passwords, email addresses, ways to sign in) takes a session, and no keys and sessions take an OAuth2
 * access token. Machines have no scopes: what they may
 * do, the domain verb decides by their kind and id.
 */
export const OpenTo = (...openTo: Caller[]) => Extensions({ openTo });

/** Marks a root field for machines to which the credential of a user counts as no credential, not as a wrong one. */
export const NoUsers = () => Extensions({ noUsers: true });

export const knowsNoUsers = ({ extensions }: Field): boolean => extensions.noUsers === true;

/**
 * Declares what a credential's scopes must cover to select fields of an object type, whichever field leads to it.
 * `references` need no scope: they only identify the object.
 */
export const ReadWith = (readWith: Permission, ...references: string[]) => Extensions({ readWith, references });

/**
 * Lists the fields of the object behind a field that need no scope of `ReadWith`, because the scopes of the field itself
 * cover them. Without names, all of them: the object is the caller's own user, or created by this request.
 */
export const Covers = (...covers: string[]) => Extensions({ covers });

/** Returns the account whose secret a root field checks, from its arguments: an email address or an id. */
export type AccountOf<Args> = (args: Args, actor: Actor) => string | null | undefined;

/** What the secrets of a field are: passwords, whose hashing is slow and queued, or random texts. */
export type Secrets = "passwords" | "tokens";

/**
 * Counts the uses of a root field by address, and by address and account, on every surface, so that secrets cannot be
 * guessed. Fields without it count by their caller.
 */
export const LimitTries = <Args>(secrets: Secrets, accountOf: AccountOf<Args>) =>
  Extensions({ tries: { secrets, accountOf } });

/**
 * Sets how many objects a list without pages counts as in the cost of a document: a number, or the length of an argument.
 * The number is the list's bound, or its usual length where the bound is far above it. The default is the largest page.
 */
export const CountsAs = (items: number | { argument: string }) => Extensions({ countsAs: items });

/**
 * Sets the message for a value that the type of a number rejects: the domain's rule in place of the range of the type.
 */
export const Rule = (rule: string) => Extensions({ rule });

/** The `subscribe` option of a subscription: the domain returns a stream that states its condition. */
export const watchedBy =
  <Args>(watch: (ctx: Context, args: Args) => Promise<Watch<object>>) =>
  ({ args, context }: { args: Args; context: Context }): Promise<Watch<object>> =>
    watch(context, args);

/**
 * Marks a subscription whose events are complete: nothing below it depends on the caller, so that watchers who get the
 * same event object share its result.
 */
export const SharesEvents = () => Extensions({ sharesEvents: true });

export const sharesEvents = ({ extensions }: Pick<GraphQLField<unknown, unknown>, "extensions">): boolean =>
  extensions.sharesEvents === true;

/** Marks the field of an entry type that a wire map uses as its key: REST spells `[{key, …}]` as `{"<key>": …}`. */
export const EntryKey = (field: string) => Extensions({ entryKey: field });

/** The rule that an argument or input field declares. */
export const ruleOf = ({ extensions }: Pick<GraphQLArgument, "extensions">) => extensions.rule as string | undefined;

/** The key field of an entry type, whether it is required or not. */
export const entryKeyOf = (type: GraphQLType | undefined): string | undefined =>
  getNamedType(type)?.extensions.entryKey as string | undefined;

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

/** Whether a root field takes callers like this one at all: users, or this kind of machine. */
export const takes = (field: Field, { kind }: Actor): boolean =>
  callersOf(field).some((caller) => (isMachine(caller) ? caller === kind : kind === "user"));

/** Throws FORBIDDEN for a user whose credential is of a kind that the root field does not take. */
export const requireKind = (field: Field, actor: Actor): void => requireOneOf(callersOf(field), actor);

/** The same for kinds that are given. */
export function requireOneOf(callers: readonly Caller[], actor: Actor): void {
  if (actor.kind !== "user" || callers.includes("user") || callers.includes(actor.credential.kind)) return;
  const wanted = callers.map((caller) => callerNames[caller]).join(" or ");
  const sent = callerNames[actor.credential.kind];
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

/** Which secrets a field tries, and how to name their account; nothing for fields that try none. */
export const triesOf = ({ extensions }: Field): { secrets: Secrets; accountOf: AccountOf<unknown> } | undefined =>
  extensions.tries as ReturnType<typeof triesOf>;
