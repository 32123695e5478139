import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
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
import type { Identity, ProviderName } from "../../infrastructure/identity-providers.js";
import { withoutFinalSlash } from "../../infrastructure/oidc-issuers.js";
import { endSessions } from "../tokens/sessions.js";
import { authorizeOn, findUser, auditedUser, lockUser, userTarget } from "../users/users.js";
import { longestSubject } from "../../entities/sign-in.js";

/** The claim that a subject is from by default. It stands for the ID at GitHub as well. */
const defaultClaim = "sub";

/** An identity at a provider by which a user signs in. */
export interface UserIdentity {
  provider: ProviderName;
  issuer: string;
  subject: string;
  /** The claim that the subject is from. */
  claim: string;
  createdAt: string;
}

const fields = ["provider", "issuer", "subject", "claim", "createdAt"] as const;

/** An identity by what is stored of it. */
type Linked = Pick<Identity, "provider" | "issuer" | "subject" | "claim">;

/** Both spellings of an issuer: links of earlier releases have the one that the provider sent. */
const spellings = (issuer: string) => anyOf([withoutFinalSlash(issuer), `${withoutFinalSlash(issuer)}/`], "text");

const linksTo = ({ db }: Context, { provider, issuer, subject, claim = defaultClaim }: Linked) =>
  db
    .selectFrom("userLinks")
    .where((eb) => eb.and({ provider, subject, claim }))
    .where("issuer", "=", spellings(issuer));

/**
 * Finds the user whom an identity signs in. An identity by another claim whose `sub` is linked takes over that link: the
 * operator has changed `STEWARD_OIDC_SUBJECT_CLAIM`.
 */
export async function userLinkedTo(ctx: Context, identity: Identity): Promise<string | undefined> {
  const { provider, issuer, subject, claim, sub } = identity;
  const linked = await linksTo(ctx, identity).select("userId").executeTakeFirst();
  if (linked || sub === undefined) return linked?.userId;
  const former = { provider, issuer, subject: sub };
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

/** Links an account to an identity. Returns false if either of them is linked already. */
export async function link(ctx: Context, identity: Linked, userId: string): Promise<boolean> {
  const { provider, subject, claim = defaultClaim } = identity;
  if (await linksTo(ctx, identity).select("userId").executeTakeFirst()) return false;
  const { numInsertedOrUpdatedRows } = await ctx.db
    .insertInto("userLinks")
    .values({ provider, issuer: withoutFinalSlash(identity.issuer), subject, claim, userId, createdAt: now })
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

/** Lists the identities by which a user signs in, at most one. */
export async function listUserIdentities(ctx: Context, ref: string): Promise<UserIdentity[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  return ctx.db.selectFrom("userLinks").select(fields).where("userId", "=", user.id).execute();
}

export const UnlinkUserIdentity = inputOf({
  user: required(reference, "The user: ID or username."),
});
export type UnlinkUserIdentity = Input<typeof UnlinkUserIdentity>;

/**
 * Unlinks the identity of a user, whose sessions end; API tokens do not. The next sign-in at the provider with the email of
 * the user, or `linkUserIdentity`, links another one. Without an identity, changes nothing. Returns the id of the user.
 */
export async function unlinkUserIdentity(ctx: Context, { user: ref }: { user: string }): Promise<string> {
  const user = await lockUser(ctx, ref, "user:update");
  authorizeOn(ctx, "user:update", user);
  const former = await ctx.db
    .deleteFrom("userLinks")
    .where("userId", "=", user.id)
    .returning(fields)
    .executeTakeFirst();
  if (!former) return user.id;
  await endSessions(ctx, user.id, ownSession(ctx));
  ctx.audit({ action: "update", ...auditedUser(user), diff: linkDiff({ old: former }) });
  return user.id;
}

/** An identity for a user. */
export const LinkUserIdentity = inputOf({
  user: required(reference, "The user, who signs in through a provider: ID or username."),
  subject: required(
    pasted(prose(longestSubject)),
    "Permanent ID of the user at the provider, {limits}: the value of the claim that `STEWARD_OIDC_SUBJECT_CLAIM` names, or the numeric ID of a user of GitHub.",
  ),
  issuer: optional(
    pasted(string),
    "Issuer in the ID tokens of the user; a final slash does not matter. Default: the provider in the settings.",
  ),
});
export type LinkUserIdentity = Input<typeof LinkUserIdentity>;

/** The session of the caller, who stays signed in while changing the own account. */
const ownSession = ({ actor }: Context) => (actor.kind === "user" ? actor.credential.id : undefined);

/**
 * Links a user who signs in through a provider to an identity there, in place of the former one, whose sessions end. Throws
 * CONFLICT if the identity signs in another user. Returns the id of the user.
 */
export async function linkUserIdentity(ctx: Context, input: LinkUserIdentity): Promise<string> {
  const { config } = ctx;
  const user = await lockUser(ctx, input.user, "user:update");
  authorizeOn(ctx, "user:update", user);
  const provider = user.loginType;
  if (provider !== "oidc" && provider !== "github")
    throw badInput([{ field: "user", detail: "Only users who sign in through a provider have identities there." }]);
  const issuer = input.issuer || (provider === "oidc" ? config.oidcIssuerUrl : new URL(config.githubUrl).origin);
  const { subject } = input;
  const problems = new Problems();
  problems.add("issuer", issuer === undefined ? "Is required: no provider is configured." : faultOf(httpUrl, issuer));
  problems.add("subject", subject === "" ? "Is required." : subjectProblem(subject));
  problems.throwIfAny();
  const identity: Linked = {
    provider,
    issuer: withoutFinalSlash(issuer!),
    subject,
    ...(provider === "oidc" && { claim: config.oidcSubjectClaim }),
  };

  const former = await ctx.db.selectFrom("userLinks").select(fields).where("userId", "=", user.id).executeTakeFirst();
  if (former && isSame(former, identity)) return user.id;
  await ctx.db.deleteFrom("userLinks").where("userId", "=", user.id).execute();
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

const subjectProblem = (subject: string) =>
  subject.length > longestSubject ? `Must be at most ${longestSubject} characters.` : textProblem(subject);

const isSame = (former: UserIdentity, { issuer, subject, claim = defaultClaim }: Linked) =>
  withoutFinalSlash(former.issuer) === issuer && former.subject === subject && former.claim === claim;
