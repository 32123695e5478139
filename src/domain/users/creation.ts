import { auditedAs, diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import type { Statement } from "../kernel/database.js";
import type { Ending } from "../kernel/endings.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { type Sql, sql } from "../kernel/sql.js";
import { maxOrganizationsPerUser, tooManyOrganizations } from "../organizations/organizations.js";
import { passwordProblem } from "../sign-in/passwords.js";
import { announcement, type Recipients } from "./account-events.js";
import { accountProblems, hasNoPassword } from "./accounts.js";
import type { LoginType, UserRow, UserStatus } from "./users.js";
import { claiming, requireFree, type Taken, type Written } from "./writes.js";

export interface CreateUser {
  email?: string | null;
  username?: string | null;
  name?: string | null;
  /** Default: `none` for service accounts, `password` for all others. */
  loginType?: LoginType | null;
  /** Required if `loginType` is `password`, otherwise not allowed. */
  password?: string | null;
  /** Default: the default organization. */
  organizationIds?: string[] | null;
  isServiceAccount?: boolean | null;
}

/** What provisioning sets on a new user besides. */
interface Provisioned {
  avatarUrl: string;
  status: UserStatus;
}

/** What the creation of a user reads. */
export interface Surroundings {
  now: string;
  organizationIds: string[];
  recipients: Recipients;
}

/** A user who can be created. */
export interface NewUser {
  id: string;
  /** Columns of a lookup that has to show first that the email and the username are free. */
  columns: Sql;
  /** Writes the user with the commit. Throws BAD_USER_INPUT for missing organizations. */
  add: (found: Surroundings, username: string) => Written;
}

/** A row of `users`, and the organizations that the user joins. */
interface NewRow {
  id: string;
  at: string;
  email: string;
  username: string;
  name: string;
  avatar_url: string;
  login_type: LoginType;
  status: UserStatus;
  password_hash: string | null;
  is_service_account: boolean;
  created_by: string | null;
  organization_ids: readonly string[];
}

// Locks the groups that count members before anything else is written: creations do not wait for each other's values
// while they hold a lock. A missing organization violates a constraint.
const creating: Ending<NewRow> = (rows) => sql`
  newcomers as materialized (
    select * from json_to_recordset(${rows}) as n (id uuid, at timestamptz, email text, username text, name text,
      avatar_url text, login_type text, status text, password_hash text, is_service_account bool, created_by uuid,
      organization_ids uuid[])
  ), joined as materialized (
    select id from organizations
    where deleted_at is null and id = any(array(select unnest(organization_ids) from newcomers)) order by id for share
  ), counted as materialized (
    select id from groups where id = any(array(select id from joined)) order by id for no key update
  ), created as (
    insert into users (id, created_at, updated_at, email, username, name, avatar_url, login_type, status, password_hash,
      is_service_account, created_by)
    select id, at, at, email, username, name, avatar_url, login_type, status, password_hash, is_service_account, created_by
    from newcomers where (select count(*) from counted) >= 0
    returning id, created_at
  ), memberships as (
    insert into organization_members (organization_id, user_id, created_at)
    select joined.id, created.id, created_at
    from created join newcomers using (id) cross join unnest(organization_ids) wanted
      left join joined on joined.id = wanted
  )`;

/** Prepares the creation of a user or a service account with memberships in organizations. */
export async function newUser(
  ctx: Context,
  input: CreateUser,
  { avatarUrl = "", status = "active" }: Partial<Provisioned> = {},
): Promise<NewUser> {
  authorize(ctx.actor, "user:create");
  const isServiceAccount = input.isServiceAccount ?? false;
  const account = {
    email: input.email ?? "",
    username: input.username ?? "",
    name: input.name ?? "",
    loginType: input.loginType ?? (isServiceAccount ? "none" : "password"),
    isServiceAccount,
  };
  const problems = accountProblems(account);
  if (isServiceAccount && account.loginType !== "none")
    problems.add("loginType", "Service accounts cannot sign in: their login type is none.");
  problems.add("password", await firstPasswordProblem(input.password ?? undefined, account));
  if (input.organizationIds?.length === 0) problems.add("organizationIds", "Must name at least one organization.");
  problems.throwIfAny();
  if ((input.organizationIds?.length ?? 0) > maxOrganizationsPerUser) throw tooManyOrganizations();

  const id = newId();
  const hash = input.password ? await ctx.services.passwords.hash(input.password) : null;
  const { email, name, loginType } = account;
  const wanted = input.organizationIds ?? null;
  const tellingOf = (username: string) => announcement(ctx, "created", { id, username, name });
  const telling = tellingOf(account.username);
  const columns = sql`now()::timestamptz(3) as now, array(
      select id from organizations
      where deleted_at is null and ${wanted === null ? sql`is_default` : sql`id = any(${wanted}::uuid[])`} order by id
    ) as "organizationIds", ${telling.recipients} as recipients`;
  const add = ({ now, organizationIds, recipients }: Surroundings, username: string): Written => {
    requireAll(wanted ?? [], organizationIds);
    const values = { id, at: now, email, username, name, status };
    ctx.write(creating, {
      ...values,
      avatar_url: avatarUrl,
      login_type: loginType,
      password_hash: hash,
      is_service_account: isServiceAccount,
      created_by: userIdOf(ctx.actor) ?? null,
      organization_ids: organizationIds,
    });
    const others = { ...(avatarUrl && { avatarUrl }), ...(status !== "active" && { status }) };
    const diff = diffOf({}, { ...account, username, ...others, organizationIds, password: hash && "***" });
    ctx.audit({ action: "create", ...auditedAs("user", id, username), diff });
    (username === account.username ? telling : tellingOf(username)).send(recipients);
    ctx.afterCommit(() => noteGrowth(ctx));
    return { createdAt: now, updatedAt: now, version: 1 };
  };
  return { id, columns, add };
}

/** Creates a user or a service account with memberships in organizations. Returns its id. */
export async function createUser(ctx: Context, input: CreateUser): Promise<string> {
  const { id, columns, add } = await newUser(ctx, input);
  const { email = null, username = null } = input;
  const [found] = await ctx.select<Taken & Surroundings>(
    sql`with ${claiming({ id, email, username })} select taken.*, ${columns} from taken`,
  );
  requireFree(found!);
  add(found!, username!);
  await ctx.select(sql`select`); // writes the user before others read it by Kysely
  return id;
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

const countTables: Statement<never> = { text: "analyze users, organization_members, scim_user_links" };

/**
 * Has Postgres count the tables of users after each tenfold growth. Statements are planned once, and those planned for a
 * small table read all of it; by itself, Postgres counts a table a minute after it has grown.
 */
function noteGrowth({ services }: Context): void {
  if (++growth.created < growth.counted) return;
  growth.counted *= 10;
  services.errands.run("count the tables of users", async () => {
    await services.database.query(countTables, []);
  });
}

function requireAll(wanted: string[], found: string[]): void {
  const problems = new Problems();
  for (const [index, id] of wanted.entries())
    if (!found.includes(id)) problems.add(`organizationIds[${index}]`, "Must be the id of an organization.");
  problems.throwIfAny();
}
