// Who may use a part of the schema: how parts declare it, what an operation needs by all that it selects, and the decision.
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  getNamedType,
  getOperationAST,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type GraphQLType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import { Extensions } from "type-graphql";
import type * as z from "zod/mini";
import { isMachine, type Need, type Permission, requireScopes } from "../../domain/authorization/authorization.js";
import { requireFactor } from "../../domain/authorization/missing-factors.js";
import type { Actor, Credential, MachineActor } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { forbidden, unauthenticated } from "../../domain/kernel/errors.js";
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
  /** Whether users may use the root field who can do nothing else before they have added a second factor. */
  addsFactor?: true;
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
  ignoresUsers?: true;
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
  countsOnlyFailures?: true;
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
const neededBy = (field: Field): readonly Need[] => accessOf(field).needs ?? [];

/** Returns the needs of a field as a part of its type, where `leading` leads to the object. */
function neededToRead(type: GraphQLNamedType, field: Field, leading: Field | undefined): readonly Need[] {
  const { readWith } = accessOf(type);
  if (readWith === undefined || referencesOf(type).includes(field.name)) return [];
  const covers = leading && accessOf(leading).covers;
  return covers === "everything" || covers?.includes(field.name) ? [] : [readWith];
}

/** The fields of a type that are selected without its scope. */
const referencesOf = (type: GraphQLNamedType): readonly string[] => accessOf(type).references ?? [];

/** The fields of the object behind a field that its own scopes cover, where it names them. */
function coveredBy(field: Field): readonly string[] {
  const { covers = [] } = accessOf(field);
  return covers === "everything" ? [] : covers;
}

const callersOf = (field: Field): readonly Caller[] => accessOf(field).openTo ?? ["user"];

/** Whether a root field takes callers like this one at all: users, or this kind of machine. */
const takes = (field: Field, { kind }: Actor): boolean =>
  callersOf(field).some((caller) => (isMachine(caller) ? caller === kind : kind === "user"));

/** Throws FORBIDDEN for a user whose credential is of a kind that the root field does not take. */
const requireKind = (field: Field, actor: Actor): void => requireOneOf(callersOf(field), actor);

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

/** Throws FORBIDDEN for a user whose credential is of none of these kinds. */
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

export { mustAddFactor, requireFactor, secondFactorRequired } from "../../domain/authorization/missing-factors.js";

/** Which callers root fields take instead of one of another kind, as a sentence. */
function rightCallerOf(fields: readonly Field[], { kind }: Actor): string {
  const callers = new Set(fields.filter((field) => !takes(field, { kind } as Actor)).flatMap(callersOf));
  const wanted = [...callers].map((caller) => callerNames[caller]).join(" or ");
  return `This operation takes ${wanted}.`;
}

/** Whether a root field says which scopes it needs. */
function declaresScopes(field: Field): boolean {
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

/** The fragments of a document by their names. */
export const fragmentsOf = ({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> =>
  new Map(
    definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  );

/** Whether nothing but some fields of the object behind a field is selected. Skipped fields count as selected. */
export function selectsOnly({ fieldNodes, fragments }: GraphQLResolveInfo, fields: ReadonlySet<string>): boolean {
  const isCovered = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) return fields.has(selection.name.value);
      const { selectionSet } = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value]! : selection;
      return isCovered(selectionSet);
    });
  return fieldNodes.every(({ selectionSet }) => isCovered(selectionSet!));
}

/** The root fields of an operation, and what it needs of the credential's scopes. */
export interface Selection {
  roots: ReadonlySet<Field>;
  needs: readonly Need[];
}

/** Walks a valid document of one operation. Introspection needs no scopes. */
export function selectionOf(schema: GraphQLSchema, document: DocumentNode): Selection {
  const operation = getOperationAST(document)!;
  const fragments = fragmentsOf(document);
  const roots = new Set<Field>();
  const needs = new Set<Need>();
  /** Visited fragments by the field that leads to them: spread there again, they need the same. */
  const visited = new Map<Field | undefined, Set<string>>();

  function walk({ selections }: SelectionSetNode, type: GraphQLNamedType, leading?: Field): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) spread(selection.name.value, leading);
      else if (selection.kind === Kind.INLINE_FRAGMENT)
        walk(selection.selectionSet, conditionOf(selection.typeCondition?.name.value, type), leading);
      else if (isObjectType(type) || isInterfaceType(type)) {
        const field = type.getFields()[selection.name.value];
        if (!field) continue;
        if (!leading) roots.add(field);
        for (const need of [...neededBy(field), ...neededToRead(type, field, leading)]) needs.add(need);
        if (selection.selectionSet) walk(selection.selectionSet, getNamedType(field.type), field);
      }
    }
  }

  function spread(name: string, leading: Field | undefined): void {
    const seen = visited.get(leading) ?? new Set();
    if (seen.has(name)) return;
    visited.set(leading, seen.add(name));
    const { typeCondition, selectionSet } = fragments.get(name)!;
    walk(selectionSet, schema.getType(typeCondition.name.value)!, leading);
  }

  const conditionOf = (name: string | undefined, type: GraphQLNamedType) =>
    name === undefined ? type : schema.getType(name)!;

  walk(operation.selectionSet, schema.getRootType(operation.operation)!);
  return { roots, needs: [...needs] };
}

/** Throws at boot for root fields that do not declare their scopes, and for declarations of unknown fields. */
export function requireDeclaredScopes(schema: GraphQLSchema): void {
  const silent = rootFields(schema).filter((field) => !declaresScopes(field));
  if (silent.length > 0) throw new Error(`No scopes are declared for ${silent.map(({ name }) => name).join(", ")}.`);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    requireFields(type, referencesOf(type));
    for (const field of Object.values(type.getFields())) requireFields(getNamedType(field.type), coveredBy(field));
  }
}

function requireFields(type: GraphQLNamedType, names: readonly string[]): void {
  const fields = isObjectType(type) ? type.getFields() : {};
  const unknown = names.find((name) => !(name in fields));
  if (unknown !== undefined) throw new Error(`${type.name} has no field ${unknown}.`);
}

/** Checks what root fields need by their arguments before they resolve and before their transaction begins. */
export function checkArguments(schema: GraphQLSchema): void {
  for (const field of rootFields(schema)) {
    const { resolve } = field;
    const { byArguments } = accessOf(field);
    if (!resolve || !byArguments) continue;
    field.resolve = (root, args, context, info) => {
      const { actor } = context as Context;
      const { needs = [], openTo = ["user"] } = byArguments(args as never);
      requireOneOf(openTo, actor);
      requireScopes(actor, needs);
      return resolve(root, args, context, info);
    };
  }
}

/** The fields of Query, Mutation, and Subscription. */
export const rootFields = (schema: GraphQLSchema): Field[] =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  );

/** Which callers may run an operation, decided by its root fields and by what it selects below them. */
export class Admission {
  /** The scopes that the credential must cover. */
  readonly needs: readonly Need[];
  /** Whether it runs without a credential. */
  readonly open: boolean;
  /** The secrets that it could be used to guess. Such operations are counted by address and account, not by caller. */
  readonly triesSecrets: "passwords" | "tokens" | undefined;
  /** Whether only failures of such an operation are counted. */
  readonly countsFailures: boolean;
  readonly #closed: ReadonlyArray<GraphQLField<unknown, unknown>>;

  constructor({ roots, needs }: Selection) {
    this.needs = needs;
    this.#closed = [...roots].filter((field) => !accessOf(field).open);
    this.open = this.#closed.length === 0;
    const tried = [...roots].flatMap((field) => accessOf(field).tries?.secrets ?? []);
    this.triesSecrets = tried.includes("passwords") ? "passwords" : tried[0];
    this.countsFailures = tried.length > 0 && [...roots].every((field) => accessOf(field).tries?.countsOnlyFailures);
  }

  /**
   * Throws UNAUTHENTICATED without a credential that the root fields take, and FORBIDDEN for a user who must change the
   * password first, and for a credential of the wrong kind or with too narrow scopes, before any object is looked up.
   * `count` runs between the two (order of a request).
   */
  check(ctx: Context, count?: (ctx: Context) => void): void {
    if (!this.open) this.#authenticate(ctx);
    count?.(ctx);
    if (!this.open) this.#authorize(ctx);
  }

  #authenticate({ actor, request }: Context): void {
    if (actor.kind === "anonymous")
      throw unauthenticated(["No credential was sent.", request.unreadCredential].filter(Boolean).join(" "));
    if (this.#closed.every((field) => takes(field, actor))) return;
    const isWrongKind = actor.kind === "user" && !this.#closed.some((field) => accessOf(field).ignoresUsers);
    throw isWrongKind ? forbidden() : unauthenticated(`The token is not valid. ${rightCallerOf(this.#closed, actor)}`);
  }

  #authorize({ actor }: Context): void {
    if (!this.#closed.every((field) => accessOf(field).changesPassword)) requireChangedPassword(actor);
    if (!this.#closed.every((field) => accessOf(field).addsFactor)) requireFactor(actor);
    for (const field of this.#closed) requireKind(field, actor);
    if (actor.kind === "user") requireScopes(actor, this.needs);
  }
}
