import { getNamedType, type GraphQLField, type GraphQLNamedType, type GraphQLType } from "graphql";
import { Extensions } from "type-graphql";
import type * as z from "zod/mini";
import type { Actor, Credential, MachineActor } from "../../domain/kernel/actor.js";
import { isMachine, type Need, type Permission } from "../../domain/authorization/authorization.js";
import type { Context } from "../../domain/kernel/context.js";
import { forbidden } from "../../domain/kernel/errors.js";
import type { Watch } from "../../domain/kernel/watching.js";

/** A kind of credential: any of a user, one kind of a user's, or the token of a kind of machine. */
type Caller = "user" | Credential["kind"] | MachineActor["kind"];

/** The declarations of a type, a field, or an argument. */
export interface AccessOptions {
  /**
   * The needs that a credential's scopes must cover before an operation that selects the field runs. Scopes only
   * narrow: whether the caller holds the permission is decided by the domain. Every root field declares its needs, or
   * one of the next three, or takes only machines: the program does not start otherwise.
   */
  needs?: readonly Need[];
  /** Whether every credential of a user may use the root field, however narrow its scopes. */
  anyScope?: true;
  /** Whether the root field takes no credential. */
  open?: true;
  /** Whether users may use the root field who can do nothing else before they have changed their password. */
  changesPassword?: true;
  /**
   * The needs of the root field that depend on its arguments. They are checked before the field resolves and its
   * transaction begins.
   */
  byArguments?: DemandOf<never>;
  /**
   * The kinds of credentials that the root field accepts. Default: all kinds of users, none of machines. Changes with
   * which a key could get lasting or wider access (passwords, email addresses, ways to sign in) require a session, and
   * changes of keys and sessions accept no OAuth2 access tokens. Machines have no scopes: the function of the domain
   * decides by their kind and id what they may do.
   */
  openTo?: readonly Caller[];
  /** Whether the credential of a user counts as no credential, not as a wrong one: for root fields of machines. */
  noUsers?: true;
  /**
   * The needs that a credential's scopes must cover to select fields of the object type, whichever field leads to it.
   * `references` need no scope: they only identify the object.
   */
  readWith?: Permission;
  references?: readonly string[];
  /**
   * The fields of the object behind the field that need no scope of `readWith`, because the scopes of the field itself
   * cover them: `everything` if the object is the caller's own user, or created by the request.
   */
  covers?: "everything" | readonly string[];
  /**
   * The secrets that the root field checks: its uses are counted by address, and by address and account, on every
   * surface, so that secrets cannot be guessed. Other root fields are counted by their caller.
   */
  tries?: Tries<never>;
  /**
   * How many objects a list without pages counts as in the cost of a document: a number, or the length of an argument.
   * The number is the list's bound, or its usual length where the bound is far above it. Default: the largest page.
   */
  countsAs?: number | { argument: string };
  /**
   * Whether the events of a subscription are complete: nothing below it depends on the caller, so that watchers who get
   * the same event object share its result.
   */
  sharesEvents?: true;
  /** The value that an input or an argument takes, with its rules. */
  value?: z.core.$ZodType;
  /** The field of an entry type that a wire map uses as its key: REST spells `[{key, …}]` as `{"<key>": …}`. */
  entryKey?: string;
}

/** The needs that depend on the arguments of a root field: more scopes, or a certain kind of credential. */
type DemandOf<Args> = (args: Args) => { needs?: readonly Need[]; openTo?: readonly Caller[] };

interface Tries<Args> {
  /** Passwords, whose hashing is slow and queued, or random texts. */
  secrets: "passwords" | "tokens";
  /** Returns the account whose secret is checked: an email address or an id. */
  accountOf: (args: Args, actor: Actor) => string | null | undefined;
  /** Whether right secrets do not count: the function of the domain counts them by what they belong to. */
  onlyFailures?: true;
}

/** Declares who may use a part of the schema, at what cost, and how it is read. Kept in the extensions of the part. */
export const Access = (options: AccessOptions) => Extensions({ ...options });

type Field = GraphQLField<unknown, unknown>;

/** Returns the declarations of a part of the schema. */
export const accessOf = ({ extensions }: { readonly extensions: object }): AccessOptions => extensions;

/** The `subscribe` option of a subscription: the domain returns a stream that states its condition. */
export const watchedBy =
  <Args>(watch: (ctx: Context, args: Args) => Promise<Watch<object>>) =>
  ({ args, context }: { args: Args; context: Context }): Promise<Watch<object>> =>
    watch(context, args);

/** The key field of an entry type, whether it is required or not. */
export function entryKeyOf(type: GraphQLType | undefined): string | undefined {
  const named = getNamedType(type);
  return named && accessOf(named).entryKey;
}

/** Returns the needs of a field itself, whatever is selected of the object behind it. */
export const neededBy = (field: Field): readonly Need[] => accessOf(field).needs ?? [];

/** Returns the needs of a field as a part of its type, where `leading` leads to the object. */
export function neededToRead(type: GraphQLNamedType, field: Field, leading: Field | undefined): readonly Need[] {
  const { readWith } = accessOf(type);
  if (readWith === undefined || referencesOf(type).includes(field.name)) return [];
  const covers = leading && accessOf(leading).covers;
  return covers === "everything" || covers?.includes(field.name) ? [] : [readWith];
}

/** The fields of a type that are selected without its scope. */
export const referencesOf = (type: GraphQLNamedType): readonly string[] => accessOf(type).references ?? [];

/** The fields of the object behind a field that its own scopes cover, where it names them. */
export function coveredBy(field: Field): readonly string[] {
  const { covers = [] } = accessOf(field);
  return covers === "everything" ? [] : covers;
}

const callersOf = (field: Field): readonly Caller[] => accessOf(field).openTo ?? ["user"];

/** Whether a root field takes callers like this one at all: users, or this kind of machine. */
export const takes = (field: Field, { kind }: Actor): boolean =>
  callersOf(field).some((caller) => (isMachine(caller) ? caller === kind : kind === "user"));

/** Throws FORBIDDEN for a user whose credential is of a kind that the root field does not take. */
export const requireKind = (field: Field, actor: Actor): void => requireOneOf(callersOf(field), actor);

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

/** The same for kinds that are given. */
export function requireOneOf(callers: readonly Caller[], actor: Actor): void {
  if (actor.kind !== "user" || callers.includes("user") || callers.includes(actor.credential.kind)) return;
  const wanted = callers.map((caller) => callerNames[caller]).join(" or ");
  const sent = callerNames[actor.credential.kind];
  throw forbidden("Forbidden.", { detail: `This operation takes ${wanted}; ${sent} cannot be used for it.` });
}

/** Throws FORBIDDEN for a user who can do nothing before the password was changed, whatever the credential is. */
export function requireChangedPassword(actor: Actor): void {
  if (actor.kind !== "user" || !actor.mustChangePassword) return;
  throw forbidden("You must change your password first.", {
    detail: "An administrator set it. Change it with `changePassword`, or on the page /account/password.",
    reason: passwordChangeRequired,
  });
}

/** The reason of such a failure for programs. */
export const passwordChangeRequired = "password_change_required";

/** Which callers root fields take instead of one of another kind, as a sentence. */
export function rightCallerOf(fields: readonly Field[], { kind }: Actor): string {
  const callers = new Set(fields.filter((field) => !takes(field, { kind } as Actor)).flatMap(callersOf));
  const wanted = [...callers].map((caller) => callerNames[caller]).join(" or ");
  return `This operation takes ${wanted}.`;
}

/** Whether a root field says which scopes it needs. */
export function declaresScopes(field: Field): boolean {
  const { needs = [], anyScope, open, byArguments } = accessOf(field);
  return !!open || !!anyScope || needs.length > 0 || !!byArguments || callersOf(field).every(isMachine);
}

/** How many objects a list counts as, where that is declared. */
export function countedAs(field: Field, args: Record<string, unknown>): number | undefined {
  const { countsAs } = accessOf(field);
  if (typeof countsAs !== "object") return countsAs;
  const given = args[countsAs.argument];
  return Array.isArray(given) ? given.length : 1;
}
