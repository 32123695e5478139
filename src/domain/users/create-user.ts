import { sql } from "kysely";
import { auditedAs, diffOf } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { type SiteRole, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { anyOf, now } from "../kernel/queries.js";
import { takeFree } from "../../infrastructure/database/locks.js";
import {
  choice,
  flag,
  inputOf,
  type Input,
  listOf,
  optional,
  pasted,
  required,
  secret,
  uuid,
} from "../kernel/values.js";
import { maxOrganizationsPerUser, tooManyOrganizations } from "../organizations/organizations.js";
import { passwordProblem } from "../sign-in/password-strength.js";
import { announce } from "./account-events.js";
import { accountProblems, hasNoPassword, requireFree, throwTaken } from "./accounts.js";
import { newEmail, realName, usernameValue } from "./names.js";
import { LoginType, type UserRow, type UserStatus } from "./users.js";

export const CreateUser = inputOf({
  email: required(pasted(newEmail), "Unique email address, case-insensitive."),
  username: required(usernameValue, "Unique username, case-insensitive: {limits}."),
  name: optional(realName, "Real name, {limits}. Default: empty."),
  loginType: optional(
    choice(LoginType),
    "How the user signs in. Default: NONE for service accounts, otherwise PASSWORD.",
  ),
  password: optional(
    secret,
    "Password. Required if `loginType` is PASSWORD, which is the default, and rejected otherwise.",
  ),
  mustChangePassword: optional(
    flag,
    "Whether the user can sign in, but do nothing else, until the password was changed. Only with a password. Default: false.",
  ),
  organizationIds: optional(
    listOf(uuid),
    "IDs of the organizations to join, at least one. Default: the default organization.",
  ),
  isServiceAccount: optional(flag, "Whether to create a service account. Cannot be changed later. Default: false."),
});
export type CreateUser = Input<typeof CreateUser>;

/** Creates a user or a service account with memberships in organizations. Returns its id. */
export async function createUser(ctx: Context, input: CreateUser): Promise<string> {
  authorize(ctx.actor, "user:create");
  const { organizationIds, isServiceAccount = null, password, mustChangePassword } = input;
  const account = {
    email: input.email,
    username: input.username,
    name: input.name ?? "",
    loginType: input.loginType ?? (isServiceAccount ? "none" : "password"),
    isServiceAccount: isServiceAccount ?? false,
  };
  const problems = accountProblems(account);
  if (isServiceAccount && account.loginType !== "none")
    problems.add("loginType", "Service accounts cannot sign in: their login type is none.");
  problems.add("password", await firstPasswordProblem(password ?? undefined, account));
  if (mustChangePassword && account.loginType !== "password") problems.add("mustChangePassword", hasNoPassword);
  if (organizationIds?.length === 0) problems.add("organizationIds", "Must name at least one organization.");
  problems.throwIfAny();
  if ((organizationIds?.length ?? 0) > maxOrganizationsPerUser) throw tooManyOrganizations();

  const passwordHash = password ? await ctx.services.passwords.hash(password) : null;
  await requireFree(ctx, account);
  const { id } = await addUser(ctx, {
    ...account,
    passwordHash,
    organizationIds,
    mustChangePassword: mustChangePassword ?? false,
  }).catch(throwTaken);
  return id;
}

/** A user to be added. */
interface NewUser {
  email: string;
  username: string;
  name: string;
  loginType: LoginType;
  avatarUrl?: string;
  status?: UserStatus;
  isServiceAccount?: boolean;
  passwordHash?: string | null;
  mustChangePassword?: boolean;
  siteRoles?: SiteRole[];
  /** Who invited the user, who then creates the account. Default: the caller creates it. */
  invitedBy?: string;
  /** Default: the default organization. */
  organizationIds?: readonly string[] | null | undefined;
}

/**
 * Adds a user, whose values were checked, to organizations. Throws BAD_USER_INPUT for organizations that are missing.
 * Violates unique indexes if another user has the email or the username.
 */
export async function addUser(ctx: Context, { organizationIds: wanted, ...user }: NewUser) {
  const { invitedBy, ...stored } = user;
  const {
    avatarUrl,
    status,
    passwordHash,
    isServiceAccount = false,
    mustChangePassword,
    siteRoles,
    ...account
  } = stored;
  const id = newId();
  const added = await ctx.db
    .insertInto("users")
    .values({ id, createdAt: now, updatedAt: now, ...stored, createdBy: invitedBy ?? userIdOf(ctx.actor) ?? null })
    .returning(["id", "createdAt", "updatedAt", "scimVersion as version"])
    .executeTakeFirstOrThrow();
  await announce(ctx, "created", { id, ...stored });
  const organizationIds = await joinAsNew(ctx, id, wanted ?? null);
  const others = {
    ...(avatarUrl && { avatarUrl }),
    ...(status && status !== "active" && { status }),
    ...(mustChangePassword && { mustChangePassword }),
    ...(siteRoles?.length && { siteRoles }),
  };
  const diff = diffOf(
    {},
    { ...account, isServiceAccount, ...others, organizationIds, password: passwordHash && "***" },
  );
  const entry = { action: "create", ...auditedAs("user", id, user.username), diff } as const;
  ctx.audit(invitedBy === undefined ? entry : { ...entry, actorId: id });
  ctx.afterCommit(() => noteGrowth(ctx));
  return added;
}

/** Adds a new user to organizations, to the default one if `wanted` is null. Returns their ids. */
async function joinAsNew(ctx: Context, userId: string, wanted: readonly string[] | null): Promise<string[]> {
  const joined = await ctx.db
    .insertInto("organizationMembers")
    .columns(["organizationId", "userId", "createdAt"])
    .expression((eb) =>
      eb
        .selectFrom("organizations as o")
        .select(["o.id", eb.val(userId).as("userId"), now.as("createdAt")])
        .where("o.deletedAt", "is", null)
        .where((is) => (wanted === null ? is("o.isDefault", "=", true) : is("o.id", "=", anyOf(wanted))))
        .orderBy("o.id")
        .forShare(),
    )
    .returning("organizationId")
    .execute();
  const organizationIds = joined.map(({ organizationId }) => organizationId);
  const problems = new Problems();
  for (const [index, id] of (wanted ?? []).entries())
    if (!organizationIds.includes(id)) problems.add(`organizationIds[${index}]`, "Must be the id of an organization.");
  problems.throwIfAny();
  return organizationIds;
}

async function firstPasswordProblem(
  password: string | undefined,
  account: Pick<UserRow, "email" | "username" | "name" | "loginType">,
) {
  if (account.loginType === "password") return passwordProblem(password ?? "", account);
  return password === undefined ? undefined : hasNoPassword;
}

/** The users that this process has created, and the number of them at which Postgres counts their tables again. */
const growth = { created: 0, counted: 100 };

/**
 * Updates the statistics of the tables of users (ANALYZE) after each tenfold growth. Statements are planned once, and
 * those planned for a small table read all of it. Postgres itself updates them about a minute after the growth.
 */
function noteGrowth({ services }: Context): void {
  if (++growth.created < growth.counted) return;
  growth.counted *= 10;
  services.backgroundTasks.run("count the tables of users", async () => {
    await services.database.db.transaction().execute(async (db) => {
      // One replica is enough, and none waits for others that do so, or for a migration.
      if (await takeFree({ db }, "statistics"))
        await sql`analyze (skip_locked) users, organization_members, scim_user_links`.execute(db);
    });
  });
}
