import { SignInProvider } from "../../entities/sign-in.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { auditChangesOf, auditedAs, auditWith } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireUser } from "../kernel/actor.js";
import { providerSecrets } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { isEmpty, differing } from "../kernel/changed-fields.js";
import { anyOf } from "../kernel/queries.js";
import { check, inputOf, type Input, int, list, optional, reference, required } from "../kernel/values.js";
import { userHint } from "../tokens/hints.js";
import { settingsIn } from "./declared-providers.js";
import { withMappedIds } from "./mapped-ids.js";
import { providersHint, settingsOf, type StoredProvider, storedProviders } from "./provider-registry.js";
import {
  addProviderProblems,
  CreateIdentityProvider,
  initially,
  type PublicSettings,
  UpdateIdentityProvider,
} from "./provider-settings.js";
import { joinedOrganizations, linkCountsOf, rowOfStored, type SignInProviderRow } from "./sign-in-providers.js";

/** Maximum number of providers that owners make. */
const mostProviders = 50;

/** Makes a provider, the last one on sign-in pages. Returns its id. */
export async function createIdentityProvider(ctx: Context, input: CreateIdentityProvider): Promise<string> {
  authorize(ctx.actor, "sign_in_provider:create");
  const { name, kind, clientId, clientSecret, clientKey } = input;
  const settings = { ...initially(kind), ...settingsIn(input), name, clientId };
  const problems = new Problems();
  check(CreateIdentityProvider, input, problems);
  if (problems.isEmpty) addProviderProblems(problems, settings, { clientSecret, clientKey, isKnown: false });
  const organizationIds = await organizationIdsOf(ctx, settings.organizations, problems);
  const claimMappings = problems.isEmpty ? await withMappedIds(ctx, settings.claimMappings, problems) : [];
  problems.throwIfAny();

  await takeTurn(ctx, "sign_in_providers");
  const stored = await storedProviders(ctx.db).execute();
  if (stored.length >= mostProviders) throw conflict(`There can be at most ${mostProviders} providers.`);
  requireUndeclared(ctx, name);
  const id = newId();
  ctx.em.create(SignInProvider, {
    ...propertiesOf({ ...settings, claimMappings }, organizationIds),
    ...sealed(ctx, id, input)!,
    id,
    kind,
    isEnabled: input.isEnabled ?? true,
    position: Math.max(-1, ...stored.map(({ position }) => position)) + 1,
  });
  await ctx.em.flush().catch(throwTaken);
  announce(ctx);
  return id;
}

const throwTaken = onViolation({ sign_in_providers_name_unique: () => conflictOn("name", "This name is in use.") });

/** Throws CONFLICT for the name of a provider that the settings of the server declare. */
function requireUndeclared({ services }: Context, name: string): void {
  if (services.identityProviders.declared.some(({ settings }) => settings.name === name))
    throw conflictOn("name", "The settings of the server declare a provider of this name.");
}

const propertiesOf = (settings: PublicSettings, organizationIds: string[]) => ({
  name: settings.name,
  displayName: settings.displayName,
  icon: settings.icon,
  issuer: settings.issuer,
  clientId: settings.clientId,
  scopes: [...settings.scopes],
  subjectClaim: settings.subjectClaim,
  emailVerified: settings.emailVerified,
  emailDomains: [...settings.emailDomains],
  followsEmail: settings.followsEmail,
  linksByEmail: settings.linksByEmail,
  admitsNewcomers: settings.admitsNewcomers,
  organizationIds,
  tenants: [...settings.tenants],
  hostedDomains: [...settings.hostedDomains],
  factorMethods: [...settings.factorMethods],
  factorContexts: [...settings.factorContexts],
  claimMappings: [...settings.claimMappings],
  appliesClaims: settings.appliesClaims,
  locksGroups: settings.locksGroups,
  signsOut: settings.signsOut,
  checkInterval: settings.checkInterval,
});

/** Resolves organizations by ID or name. Adds a fault for each that does not exist. */
async function organizationIdsOf(ctx: Context, refs: readonly string[], problems: Problems): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, ref] of refs.entries()) {
    const found = await joinedOrganizations(ctx, [ref]).executeTakeFirst();
    if (!found) problems.add(`organizations[${index}]`, "Must be the ID or name of an organization.");
    else if (!ids.includes(found.id)) ids.push(found.id);
  }
  return ids;
}

/** The columns of a new credential, encrypted; nothing if none is given. */
function sealed(
  { services: { vault } }: Context,
  id: string,
  { clientSecret, clientKey }: Pick<CreateIdentityProvider, "clientSecret" | "clientKey">,
) {
  const text = clientKey ?? clientSecret;
  if (text == null) return undefined;
  const { keyId: key, nonce: secretNonce, ciphertext } = vault.seal(providerSecrets.place({ id, ownerId: id }), text);
  const clientAuth = clientKey == null ? ("secret" as const) : ("private_key" as const);
  return { clientAuth, key, secretNonce, secretCiphertext: ciphertext };
}

/** Tells all replicas. This one knows the change before it responds. */
function announce(ctx: Context): void {
  ctx.publish(providersHint);
  ctx.afterCommit(() => ctx.services.identityProviders.refresh());
}

/**
 * Locks a stored provider: sign-ins through it wait. Throws NOT_FOUND for an unknown one, CONFLICT for one that the settings
 * of the server declare.
 */
async function lockProvider(ctx: Context, ref: string): Promise<StoredProvider> {
  const stored = await storedProviders(ctx.db).forUpdate().execute();
  const found = stored.find(({ id, name }) => id === ref || name === ref);
  if (found) return found;
  if (!ctx.services.identityProviders.declared.some(({ settings: { name } }) => name === ref)) throw notFound();
  throw conflict("The settings of the server declare this provider. Change it there.");
}

/** Changes the given settings of a provider. Sign-ins that are under way have to begin again. Returns its id. */
export async function updateIdentityProvider(ctx: Context, input: UpdateIdentityProvider): Promise<string> {
  authorize(ctx.actor, "sign_in_provider:update");
  const before = await lockProvider(ctx, input.provider);
  const { id } = before;
  const { clientSecret, clientKey } = input;
  const settings = { ...settingsOf(before), ...settingsIn(input), name: input.name ?? before.name };
  const problems = new Problems();
  check(UpdateIdentityProvider, input, problems);
  if (problems.isEmpty) addProviderProblems(problems, settings, { clientSecret, clientKey, isKnown: true });
  const organizationIds =
    input.organizations == null ? before.organizationIds : await organizationIdsOf(ctx, input.organizations, problems);
  const isMapped = input.claimMappings != null && problems.isEmpty;
  const claimMappings = isMapped ? await withMappedIds(ctx, settings.claimMappings, problems) : settings.claimMappings;
  problems.throwIfAny();
  if (settings.name !== before.name) requireUndeclared(ctx, settings.name);
  if (settings.issuer !== before.issuer) await requireUnlinked(ctx, before.name);

  const isEnabled = input.isEnabled ?? before.isEnabled;
  const credential = sealed(ctx, id, input);
  const changes = {
    ...differing(before, { ...propertiesOf({ ...settings, claimMappings }, organizationIds), isEnabled }),
    ...credential,
  };
  if (isEmpty(changes)) return id;
  const entity = await ctx.em.findOneOrFail(SignInProvider, id);
  ctx.em.assign(entity, { ...changes, revision: before.revision + 1 });
  await ctx.em.flush().catch(throwTaken);
  if (settings.name !== before.name) {
    for (const table of ["userLinks", "signInReports", "claimedGifts", "providerSessions", "signInFaults"] as const)
      await ctx.db.updateTable(table).set({ provider: settings.name }).where("provider", "=", before.name).execute();
  }
  announce(ctx);
  return id;
}

/** Throws CONFLICT if people have identities at a provider: those of another issuer are other people. */
async function requireUnlinked(ctx: Context, name: string): Promise<void> {
  const [{ linked } = { linked: 0 }] = await linkCountsOf(ctx, [name]);
  if (linked > 0)
    throw conflictOn(
      "issuer",
      `${countOfPeople(linked)} an identity at this issuer. Make another provider, or delete this one.`,
    );
}

const countOfPeople = (count: number) => (count === 1 ? "1 person has" : `${count} people have`);

export const DeleteIdentityProvider = inputOf({
  provider: required(reference, "The provider: ID or name."),
  strandedUserCount: optional(
    int(0, 2_147_483_647),
    "How many people may lose their only way to sign in: the `strandedUserCount` of the provider. If it is more, nothing is deleted. Default: 0.",
  ),
});
export type DeleteIdentityProvider = Input<typeof DeleteIdentityProvider>;

/**
 * Deletes a provider with the identities of people there. Those who have no other identity are signed out, and cannot sign
 * in again until an administrator helps them. Returns the provider before its deletion.
 */
export async function deleteIdentityProvider(ctx: Context, input: DeleteIdentityProvider): Promise<SignInProviderRow> {
  authorize(ctx.actor, "sign_in_provider:delete");
  const { userId } = requireUser(ctx.actor);
  const before = await lockProvider(ctx, input.provider);
  const row = rowOfStored(ctx, before);
  const { name } = before;
  // The identities of one that hides it stay.
  const isHidden = ctx.services.identityProviders.declared.some(({ settings }) => settings.name === name);
  const links = ctx.db.deleteFrom("userLinks").where("provider", "=", isHidden ? "" : name);
  const removed = await links.returning("userId").execute();
  const stranded = await strandedAmong(
    ctx,
    removed.map((link) => link.userId),
  );
  if (stranded.includes(userId))
    throw conflict("You sign in through this provider alone. Link another one to your account before.");
  if (stranded.length > (input.strandedUserCount ?? 0))
    throw conflictOn(
      "strandedUserCount",
      `${countOfPeople(stranded.length)} no other way to sign in. Confirm it with this number.`,
    );
  if (stranded.length > 0)
    await ctx.db.deleteFrom("apiKeys").where("userId", "=", anyOf(stranded)).where("kind", "=", "session").execute();
  ctx.publish(...stranded.map(userHint));
  for (const table of ["signInReports", "claimedGifts", "providerSessions", "signInFaults"] as const)
    if (!isHidden) await ctx.db.deleteFrom(table).where("provider", "=", name).execute();
  const entity = await ctx.em.findOneOrFail(SignInProvider, before.id);
  auditWith(entity, { linkedUsers: { old: removed.length }, strandedUsers: { new: stranded.length } });
  ctx.em.remove(entity);
  await ctx.em.flush();
  announce(ctx);
  return row;
}

/** Those of the users, who have just lost an identity, who have no other one. */
async function strandedAmong(ctx: Context, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await ctx.db
    .selectFrom("users as u")
    .select("u.id")
    .where("u.id", "=", anyOf(ids))
    .where("u.deletedAt", "is", null)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom("userLinks as o").whereRef("o.userId", "=", "u.id").select("o.userId"))),
    )
    .execute();
  return rows.map(({ id }) => id);
}

export const OrderIdentityProviders = inputOf({
  providers: required(
    list(mostProviders, reference),
    "All providers that owners made, by ID or name, in the order in which sign-in pages are to show them.",
  ),
});
export type OrderIdentityProviders = Input<typeof OrderIdentityProviders>;

/** Orders the providers that owners made. */
export async function orderIdentityProviders(ctx: Context, { providers: refs }: OrderIdentityProviders): Promise<void> {
  authorize(ctx.actor, "sign_in_provider:update");
  const problems = new Problems();
  check(OrderIdentityProviders, { providers: refs }, problems);
  problems.throwIfAny();
  await takeTurn(ctx, "sign_in_providers");
  const stored = await storedProviders(ctx.db).execute();
  const wanted = refs.map((ref) => stored.find(({ id, name }) => id === ref || name === ref));
  for (const [index, found] of wanted.entries())
    if (!found || wanted.indexOf(found) < index)
      problems.add(`providers[${index}]`, "Must be a provider that owners made, once.");
  if (problems.isEmpty && wanted.length < stored.length)
    problems.add("providers", `Must name all ${stored.length} providers that owners made.`);
  problems.throwIfAny();
  const entities = await ctx.em.find(SignInProvider, {});
  for (const entity of entities) entity.position = wanted.findIndex((found) => found?.id === entity.id);
  await ctx.em.flush();
  announce(ctx);
}

auditChangesOf(SignInProvider, {
  resource: ({ id }, before) => auditedAs("sign_in_provider", id, before("name")),
  fields: [
    "name",
    "kind",
    "displayName",
    "issuer",
    "clientId",
    "clientAuth",
    "scopes",
    "subjectClaim",
    "emailVerified",
    "emailDomains",
    "followsEmail",
    "linksByEmail",
    "admitsNewcomers",
    "organizationIds",
    "tenants",
    "hostedDomains",
    "factorMethods",
    "factorContexts",
    "claimMappings",
    "appliesClaims",
    "locksGroups",
    "signsOut",
    "checkInterval",
    "isEnabled",
    "position",
  ],
  secrets: { credential: "secretNonce" },
  deletion: { fields: ["kind", "issuer", "clientId"] },
});
