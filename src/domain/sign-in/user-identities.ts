import type { Context } from "../kernel/context.js";
import { sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { authorize, mayOn, requireProof } from "../authorization/authorization.js";
import { badInput, conflict, Problems } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { textProblem } from "../../runtime/text.js";
import {
  faultOf,
  inputOf,
  type Input,
  optional,
  prose,
  reference,
  required,
  string,
  httpUrl,
  pasted,
} from "../kernel/values.js";
import type { Identity, ProviderKind } from "../../infrastructure/identity-providers.js";
import { withoutFinalSlash } from "../../infrastructure/oidc-issuers.js";
import { endSessions } from "../tokens/sessions.js";
import { authorizeOn, findUser, type FoundUser, auditedUser, lockUser, userTarget } from "../users/users.js";
import { longestSubject } from "../../entities/sign-in.js";

const userLinks = columnsOf("userLinks");

/** The claim that a subject is from by default. It stands for the ID at GitHub as well. */
const defaultClaim = "sub";

/** An identity at a provider by which a user signs in. */
export interface UserIdentity {
  /** Kind of the provider. */
  provider: ProviderKind;
  providerName: string;
  issuer: string;
  subject: string;
  /** The claim that the subject is from. */
  claim: string;
  createdAt: string;
}

/** The kind of a link; those of earlier releases are of providers that are called like their kinds. */
const kindOfLink = sql<ProviderKind>`coalesce(${userLinks.kind}, ${userLinks.provider})`;

const fields = ["provider", kindOfLink.as("kind"), "issuer", "subject", "claim", "createdAt"] as const;

/** An identity by what is stored of it. */
type Linked = Pick<Identity, "provider" | "kind" | "issuer" | "subject" | "claim">;

/** Both spellings of an issuer: links of earlier releases have the one that the provider sent. */
const spellings = (issuer: string) => anyOf([withoutFinalSlash(issuer), `${withoutFinalSlash(issuer)}/`], "text");

const linksTo = ({ db }: Context, { provider, kind, issuer, subject, claim = defaultClaim }: Linked) =>
  db
    .selectFrom("userLinks")
    .where((eb) => eb.and({ provider, subject, claim }))
    .where("issuer", "=", spellings(issuer))
    .where(kindOfLink, "=", kind);

/** Selects the id of the user to whom an identity is linked, for statements that read the user. */
export const idLinkedTo = (ctx: Context, identity: Identity) => linksTo(ctx, identity).select("userId").limit(1);

/** The identities of a user, the first one first. */
export const linksOf = ({ db }: Pick<Context, "db">, userId: string) =>
  db.selectFrom("userLinks").select(fields).where("userId", "=", userId).orderBy("createdAt").execute();

/**
 * Finds the user whom an identity signs in. An identity by another claim whose `sub` is linked takes over that link: the
 * operator has changed `STEWARD_OIDC_SUBJECT_CLAIM`.
 */
export async function userLinkedTo(ctx: Context, identity: Identity): Promise<string | undefined> {
  const { provider, kind, issuer, subject, claim, sub } = identity;
  const linked = await linksTo(ctx, identity).select("userId").executeTakeFirst();
  if (linked || sub === undefined) return linked?.userId;
  const former = { provider, kind, issuer, subject: sub };
  const taken = await ctx.db
    .updateTable("userLinks")
    .set({ issuer, subject, claim })
    .where((eb) => eb.and({ provider, subject: sub, claim: defaultClaim }))
    .where("issuer", "=", spellings(issuer))
    .returning("userId")
    .executeTakeFirst();
  if (!taken) return undefined;
  const { username } = await ctx.db
    .selectFrom("users")
    .select("username")
    .where("id", "=", taken.userId)
    .executeTakeFirstOrThrow();
  const diff = linkDiff({ old: former, new: identity });
  ctx.audit({ action: "update", actorId: taken.userId, ...auditedUser({ id: taken.userId, username }), diff });
  return taken.userId;
}

/** Links an account to an identity. Returns false if the identity is linked already, or the account to another one of its provider. */
export async function link(ctx: Context, identity: Linked, userId: string): Promise<boolean> {
  const { provider, kind, subject, claim = defaultClaim } = identity;
  if (await linksTo(ctx, identity).select("userId").executeTakeFirst()) return false;
  const { numInsertedOrUpdatedRows } = await ctx.db
    .insertInto("userLinks")
    .values({ provider, kind, issuer: withoutFinalSlash(identity.issuer), subject, claim, userId, createdAt: now })
    .onConflict((existing) => existing.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Links in the audit log. */
export const linkDiff = (links: { old?: Linked; new?: Linked }) => ({
  link: Object.fromEntries(
    Object.entries(links).map(([side, { provider, issuer, subject, claim = defaultClaim }]) => [
      side,
      { provider, issuer, subject, ...(claim !== defaultClaim && { claim }) },
    ]),
  ),
});

/** Lists the identities by which a user signs in, at most one of each provider. */
export async function listUserIdentities(ctx: Context, ref: string): Promise<UserIdentity[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  const links = await linksOf(ctx, user.id);
  return links.map(({ provider: providerName, kind: provider, ...rest }) => ({ provider, providerName, ...rest }));
}

export const UnlinkUserIdentity = inputOf({
  user: required(reference, "The user: ID, username, or `me`."),
  provider: optional(reference, "Name of the provider of the identity. Default: all of them."),
});
export type UnlinkUserIdentity = Input<typeof UnlinkUserIdentity>;

/**
 * Unlinks identities of a user, whose sessions end; API tokens do not. The next sign-in with the email of the user, or
 * `linkUserIdentity`, links another one. Users unlink their own as long as another one is left. Without an identity,
 * changes nothing. Returns the id of the user.
 */
export async function unlinkUserIdentity(ctx: Context, { user: ref, provider }: UnlinkUserIdentity): Promise<string> {
  const isOwn = isSelf(ctx, await findUser(ctx, ref));
  const user = await lockUser(ctx, ref, isOwn ? undefined : "user:update");
  if (isOwn && !mayOn(ctx.actor, "user:update", userTarget(user))) {
    authorize(ctx.actor, "user:update_personal", userTarget(user));
    const rest = (await linksOf(ctx, user.id)).filter((each) => each.provider !== provider);
    if (provider == null || rest.length === 0)
      throw conflict("This is the only identity by which you sign in. Link another one before.");
  } else authorizeOn(ctx, "user:update", user);
  const former = await ctx.db
    .deleteFrom("userLinks")
    .where("userId", "=", user.id)
    .$if(provider != null, (links) => links.where("provider", "=", provider!))
    .returning(fields)
    .execute();
  if (former.length === 0) return user.id;
  await endSessions(ctx, user.id, ownSession(ctx));
  for (const each of former) ctx.audit({ action: "update", ...auditedUser(user), diff: linkDiff({ old: each }) });
  return user.id;
}

const isSelf = ({ actor }: Context, { id }: FoundUser) => actor.kind === "user" && actor.userId === id;

/** An identity for a user. */
export const LinkUserIdentity = inputOf({
  user: required(reference, "The user, who signs in through a provider: ID or username."),
  provider: optional(
    reference,
    "Name of the provider. Default: that of the user's identity if there is one, otherwise the first one of the user's login type.",
  ),
  subject: required(
    pasted(prose(longestSubject)),
    "Permanent ID of the user at the provider, {limits}: the value of the claim that its settings name, or the numeric ID of a user of GitHub.",
  ),
  issuer: optional(
    pasted(string),
    "Issuer in the ID tokens of the user; a final slash does not matter. Default: that of the provider.",
  ),
});
export type LinkUserIdentity = Input<typeof LinkUserIdentity>;

/** The session of the caller, who stays signed in while changing the own account. */
const ownSession = ({ actor }: Context) => (actor.kind === "user" ? actor.credential.id : undefined);

/**
 * Links a user who signs in through a provider to an identity there, in place of the former one of that provider, whose
 * sessions end. Throws CONFLICT if the identity signs in another user. Returns the id of the user.
 */
export async function linkUserIdentity(ctx: Context, input: LinkUserIdentity): Promise<string> {
  const user = await lockUser(ctx, input.user, "user:update");
  authorizeOn(ctx, "user:update", user);
  requireProof(ctx.actor);
  const { loginType } = user;
  if (loginType !== "oidc" && loginType !== "github")
    throw badInput([{ field: "user", detail: "Only users who sign in through a provider have identities there." }]);
  const links = await linksOf(ctx, user.id);
  const provider = providerFor(ctx, input.provider ?? links[0]?.provider, loginType);
  const problems = new Problems();
  if (input.provider != null && !provider) problems.add("provider", "Must be the name of a provider.");
  const kind = provider?.settings.kind ?? loginType;
  const ofProvider =
    provider && (kind === "github" ? new URL(provider.settings.issuer).origin : provider.settings.issuer);
  const issuer = input.issuer || ofProvider;
  const { subject } = input;
  problems.add("issuer", issuer === undefined ? "Is required: no provider is configured." : faultOf(httpUrl, issuer));
  problems.add("subject", subject === "" ? "Is required." : subjectProblem(subject));
  problems.throwIfAny();
  const identity: Linked = {
    provider: provider?.settings.name ?? loginType,
    kind,
    issuer: withoutFinalSlash(issuer!),
    subject,
    ...(kind === "oidc" && { claim: provider?.settings.subjectClaim ?? ctx.config.oidcSubjectClaim }),
  };

  const former = links.find((each) => each.provider === identity.provider);
  if (former && isSame(former, identity)) return user.id;
  const ofUser = ctx.db.deleteFrom("userLinks").where("userId", "=", user.id);
  await ofUser.where("provider", "=", identity.provider).execute();
  if (!(await link(ctx, identity, user.id)))
    throw conflict("This identity signs in to another account.", [{ field: "subject", detail: "Is linked already." }]);
  if (former) await endSessions(ctx, user.id, ownSession(ctx));
  ctx.audit({
    action: "update",
    ...auditedUser(user),
    diff: linkDiff({ ...(former && { old: former }), new: identity }),
  });
  return user.id;
}

/** The provider of a name, or the first one of a kind. */
const providerFor = ({ services: { identityProviders } }: Context, name: string | undefined, kind: ProviderKind) =>
  name === undefined
    ? identityProviders.active.find(({ settings }) => settings.kind === kind)
    : identityProviders.find(name);

const subjectProblem = (subject: string) =>
  subject.length > longestSubject ? `Must be at most ${longestSubject} characters.` : textProblem(subject);

const isSame = (former: Required<Omit<Linked, "kind">>, { issuer, subject, claim = defaultClaim }: Linked) =>
  withoutFinalSlash(former.issuer) === issuer && former.subject === subject && former.claim === claim;
