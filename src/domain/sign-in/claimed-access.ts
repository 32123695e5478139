// Claims of a provider become groups, memberships of organizations, and roles of the person who signs in. Each provider
// takes away only what came from it.
import { sql, type SqlBool } from "kysely";
import type { ClaimGrant, ClaimMapping } from "../../entities/sign-in.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import type { Identity } from "../../infrastructure/identity-providers.js";
import { readClaim } from "../../infrastructure/oidc-claims.js";
import { isUuid } from "../../runtime/text.js";
import {
  isOrganizationRole,
  isSiteRole,
  type OrganizationRole,
  type SiteRole,
} from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { addGroup } from "../groups/group-changes.js";
import { groupName, GroupSource } from "../groups/groups.js";
import { groupsHint } from "../groups/memberships.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { isValid } from "../kernel/values.js";
import { endMembership } from "../organizations/organization-members.js";
import { userHint } from "../tokens/hints.js";
import { requireAnotherOwner } from "../users/user-roles.js";
import { lockUsers } from "../users/users.js";
import { matchesPattern } from "./claim-mappings.js";
import type { PublicSettings } from "./provider-settings.js";
import { joinedOrganizations } from "./sign-in-providers.js";

const g = columnsOf("groups", "g");
const m = columnsOf("organizationMembers", "m");
const u = columnsOf("users", "u");
const gm = columnsOf("groupMembers", "gm");
const cg = columnsOf("claimedGifts", "cg");

/** The claim, and its value, that caused a change. */
interface Cause {
  claim: string;
  value: string;
}

/** A change of a person's access because of claims, in words, or the reason why one was not made. */
export interface ClaimEffect {
  text: string;
  isWarning: boolean;
  /** The claim that is malformed, if that is the reason. */
  malformed?: string;
}

interface Person {
  id: string;
  username: string;
}

/** Gifts by their keys, as rows have them, with their causes. */
type Gifts = Map<string, Cause>;

/** Something that a provider gave. */
interface GiftRow {
  provider: string;
  gift: string;
  claim: string;
}

const keys = {
  group: (id: string) => `group:${id}`,
  organization: (id: string) => `organization:${id}`,
  role: (organization: string, role: string) => `role:${organization}:${role}`,
  site: (role: string) => `site:${role}`,
};

/** Finds at most two groups of an ID or a name, without Everyone. */
export const groupsNamed = ({ db }: Pick<Context, "db">, ref: string) =>
  db
    .selectFrom("groups as g")
    .select("g.id")
    .where(isUuid(ref) ? "g.id" : "g.name", "=", ref)
    .where(sql<SqlBool>`${g.id} <> ${g.organizationId}`)
    .limit(2)
    .execute();

/** Gives a person, whom the caller has locked, what its claims give, and takes away what they no longer give. */
export async function applyClaims(
  ctx: Context,
  { name: provider, claimMappings }: Pick<PublicSettings, "name" | "claimMappings">,
  { claims }: Pick<Identity, "claims">,
  person: Person,
): Promise<ClaimEffect[]> {
  const work = new GiftsOfPerson(ctx, provider, person);
  const kept = new Set<string>();
  for (const mapping of claimMappings) {
    const reading = readClaim(claims, mapping);
    if ("values" in reading) {
      await work.want(mapping, reading.values);
      continue;
    }
    if (mapping[reading.fault] === "keep") kept.add(mapping.claim);
    if (reading.fault === "malformed")
      work.warn(`The claim ${mapping.claim} is malformed, or was left out for its size.`, mapping.claim);
  }
  await work.apply(kept);
  return work.effects;
}

/** One person's gifts of one provider, before and after a sign-in. */
class GiftsOfPerson {
  readonly effects: ClaimEffect[] = [];
  readonly #wanted: Gifts = new Map();

  constructor(
    private readonly ctx: Context,
    private readonly provider: string,
    private readonly person: Person,
  ) {}

  warn(text: string, malformed?: string): void {
    this.effects.push({ text, isWarning: true, ...(malformed !== undefined && { malformed }) });
  }

  #say(text: string, { claim, value }: Cause): void {
    this.effects.push({ text: `${text} (${claim}: ${value})`, isWarning: false });
  }

  /** Adds what the values of a claim give. */
  async want(mapping: ClaimMapping, values: readonly string[]): Promise<void> {
    for (const grant of mapping.grants) {
      const value = values.find((each) => grant.values.includes(each));
      if (value !== undefined) await this.#wantGrant(grant, { claim: mapping.claim, value });
    }
    if (mapping.groupsOf !== "") await this.#wantGroups(mapping, values);
  }

  async #wantGrant({ groups, organization, roles }: ClaimGrant, cause: Cause): Promise<void> {
    for (const ref of groups) {
      // Those that are deleted since the mapping was stored are left out when they are given.
      if (isUuid(ref)) {
        this.#wanted.set(keys.group(ref), cause);
        continue;
      }
      const [found, another] = await groupsNamed(this.ctx, ref);
      if (!found || another) this.warn(`There is not exactly one group ${ref}.`);
      else this.#wanted.set(keys.group(found.id), cause);
    }
    if (organization === "") {
      for (const role of roles.filter(isSiteRole)) this.#wanted.set(keys.site(role), cause);
      return;
    }
    const id = await this.#organizationNamed(organization);
    if (id === undefined) return;
    this.#wanted.set(keys.organization(id), cause);
    for (const role of roles.filter(isOrganizationRole)) this.#wanted.set(keys.role(id, role), cause);
  }

  async #organizationNamed(ref: string): Promise<string | undefined> {
    const found = await joinedOrganizations(this.ctx, [ref]).executeTakeFirst();
    if (!found) this.warn(`There is no organization ${ref}.`);
    return found?.id;
  }

  /** Adds the groups of an organization that are called like values, and makes those that are missing. */
  async #wantGroups({ claim, groupsOf, groupPattern, mostNewGroups }: ClaimMapping, values: readonly string[]) {
    const { ctx } = this;
    const names = values.filter((value) => matchesPattern(groupPattern, value) && isValid(groupName, value));
    const organizationId = names.length > 0 ? await this.#organizationNamed(groupsOf) : undefined;
    if (organizationId === undefined || !this.#hasGroups()) return;
    const find = () =>
      ctx.db
        .selectFrom("groups as g")
        .select(["g.id", "g.name"])
        .where("g.organizationId", "=", organizationId)
        .where(sql<SqlBool>`${g.id} <> ${g.organizationId}`)
        .where("g.name", "=", anyOf(names, "text"))
        .execute();
    let found = await find();
    if (found.length < names.length && mostNewGroups > 0) {
      await takeTurn(ctx, "sign_in_providers", organizationId);
      found = await find();
      const missing = names.filter((name) => !found.some((group) => group.name === name));
      const { made } = await ctx.db
        .selectFrom("groups")
        .select(({ fn }) => fn.countAll<number>().as("made"))
        .where("organizationId", "=", organizationId)
        .where("source", "=", GroupSource.OIDC)
        .executeTakeFirstOrThrow();
      for (const [index, name] of missing.entries()) {
        if (made + index >= mostNewGroups) {
          this.warn(`There are ${made + index} groups of providers already, so that ${name} is not made.`);
          break;
        }
        const id = await addGroup(ctx, organizationId, { name }, { source: GroupSource.OIDC });
        this.#say(`makes the group ${name}`, { claim, value: name });
        found.push({ id, name });
      }
    }
    for (const { id, name } of found) this.#wanted.set(keys.group(id), { claim, value: name });
  }

  #hasGroups(): boolean {
    if (hasFeature(this.ctx, "template_rbac")) return true;
    this.warn("The license has no groups.");
    return false;
  }

  /** Changes what differs, except what earlier sign-ins gave for the claims that are kept. */
  async apply(kept: ReadonlySet<string>): Promise<void> {
    const { ctx, person, provider } = this;
    const { held, gifts } = await this.#held();
    const own = new Map(gifts.filter((row) => row.provider === provider).map(({ gift, claim }) => [gift, claim]));
    const ofOthers = new Set(gifts.filter((row) => row.provider !== provider).map(({ gift }) => gift));
    const ended = [...own].filter(([gift, claim]) => !this.#wanted.has(gift) && !kept.has(claim));
    const isAsWanted = [...this.#wanted.keys()].every(
      (gift) => held.has(gift) && (own.has(gift) || !ofOthers.has(gift)),
    );
    if (isAsWanted && ended.length === 0) return;
    await this.#lockMemberships();

    for (const [gift, cause] of this.#inOrder([...this.#wanted])) {
      const isGiven = held.has(gift);
      if (!isGiven && !(await this.#give(gift, cause))) continue;
      if (own.has(gift) || (isGiven && !ofOthers.has(gift))) continue;
      await ctx.db
        .insertInto("claimedGifts")
        .values({ userId: person.id, provider, gift, claim: cause.claim, createdAt: now })
        .execute();
    }
    for (const [gift, claim] of this.#inOrder(ended).toReversed()) {
      const isTaken = !held.has(gift) || ofOthers.has(gift) || (await this.#take(gift, { claim, value: "no longer" }));
      if (!isTaken) continue;
      const ofGift = ctx.db.deleteFrom("claimedGifts").where("userId", "=", person.id).where("gift", "=", gift);
      await ofGift.where("provider", "=", provider).execute();
    }
    ctx.publish(userHint(person.id), groupsHint(person.id));
  }

  /** Organizations come before their roles and groups; groups are locked by id. */
  #inOrder<Value>(gifts: ReadonlyArray<[string, Value]>): Array<[string, Value]> {
    const ranks = ["organization", "role", "site", "group"];
    const rank = ([gift]: [string, Value]) => `${ranks.indexOf(gift.slice(0, gift.indexOf(":")))} ${gift}`;
    return gifts.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }

  /** All that the person holds, by the keys of gifts, and which of it providers gave. */
  async #held(): Promise<{ held: Set<string>; gifts: GiftRow[] }> {
    const { ctx, person } = this;
    const { rows } = await sql<GiftRow | { gift: string; provider: null }>`
      select 'organization:' || ${m.organizationId} as gift, null as provider, null as claim
        from organization_members m where ${m.userId} = ${person.id}
      union all select 'role:' || ${m.organizationId} || ':' || role, null, null
        from organization_members m, unnest(${m.roles}) as role where ${m.userId} = ${person.id}
      union all select 'site:' || role, null, null
        from users u, unnest(${u.siteRoles}) as role where ${u.id} = ${person.id}
      union all select 'group:' || ${gm.groupId}, null, null from group_members gm where ${gm.userId} = ${person.id}
      union all select ${cg.gift}, ${cg.provider}, ${cg.claim} from claimed_gifts cg
        where ${cg.userId} = ${person.id}`.execute(ctx.db);
    const held = rows.filter(({ provider }) => provider === null).map(({ gift }) => gift);
    return { held: new Set(held), gifts: rows.filter((row): row is GiftRow => row.provider !== null) };
  }

  /** Locks the memberships of the person, before its groups. */
  #lockMemberships = () =>
    this.ctx.db
      .selectFrom("organizationMembers")
      .select("organizationId")
      .where("userId", "=", this.person.id)
      .orderBy("organizationId")
      .forUpdate()
      .execute();

  /** Gives something. Returns false, with a warning, if that cannot be. */
  async #give(gift: string, cause: Cause): Promise<boolean> {
    const [kind, id = "", role = ""] = gift.split(":");
    switch (kind) {
      case "organization":
        return this.#join(id, cause);
      case "role":
        return this.#setRoles(id, (roles) => [...roles, role as OrganizationRole], cause);
      case "site":
        return this.#setSiteRoles((roles) => [...roles, id as SiteRole], cause);
      default:
        return this.#hasGroups() && this.#changeGroup(id, "joins", cause);
    }
  }

  /** Takes something away. Returns false, with a warning, if that cannot be. */
  async #take(gift: string, cause: Cause): Promise<boolean> {
    const [kind, id = "", role = ""] = gift.split(":");
    switch (kind) {
      case "organization":
        return this.#leave(id, cause);
      case "role":
        return this.#setRoles(id, (roles) => roles.filter((each) => each !== role), cause);
      case "site":
        return this.#setSiteRoles((roles) => roles.filter((each) => each !== id), cause);
      default:
        return this.#changeGroup(id, "leaves", cause);
    }
  }

  #audited = (organizationId: string) =>
    auditedAs("organization_member", this.person.id, this.person.username, organizationId);

  #causeOf = ({ claim, value }: Cause) => ({ provider: { new: this.provider }, claim: { new: `${claim}: ${value}` } });

  async #join(organizationId: string, cause: Cause): Promise<boolean> {
    const { ctx, person } = this;
    await ctx.db
      .insertInto("organizationMembers")
      .values({ organizationId, userId: person.id, roles: [], createdAt: now })
      .onConflict((known) => known.doNothing())
      .execute();
    ctx.audit({ action: "create", actorId: person.id, ...this.#audited(organizationId), diff: this.#causeOf(cause) });
    this.#say(`joins the organization ${await this.#organizationName(organizationId)}`, cause);
    return true;
  }

  async #organizationName(id: string): Promise<string> {
    const row = await this.ctx.db.selectFrom("organizations").select("name").where("id", "=", id).executeTakeFirst();
    return row?.name ?? id;
  }

  /** Leaves an organization, unless people gave more there: the membership is theirs then. */
  async #leave(organizationId: string, cause: Cause): Promise<boolean> {
    const { ctx, person } = this;
    const name = await this.#organizationName(organizationId);
    const [membership] = await ctx.db
      .selectFrom("organizationMembers")
      .select("roles")
      .where("userId", "=", person.id)
      .where("organizationId", "=", organizationId)
      .execute();
    const ofGroups = ctx.db.selectFrom("groupMembers").select("groupId").where("userId", "=", person.id);
    const group = await ofGroups.where("organizationId", "=", organizationId).executeTakeFirst();
    if (!membership || membership.roles.length > 0 || group) return true;
    try {
      await endMembership(ctx, person, { organizationId, roles: [] });
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "CONFLICT") throw error;
      this.warn(`${person.username} stays in the organization ${name}: ${error.message}`);
      return false;
    }
    this.#say(`leaves the organization ${name}`, cause);
    return true;
  }

  async #setRoles(
    organizationId: string,
    change: (roles: readonly OrganizationRole[]) => OrganizationRole[],
    cause: Cause,
  ): Promise<boolean> {
    const { ctx, person } = this;
    const membership = await ctx.db
      .selectFrom("organizationMembers")
      .select("roles")
      .where("userId", "=", person.id)
      .where("organizationId", "=", organizationId)
      .executeTakeFirst();
    if (!membership) return true;
    const old = membership.roles as OrganizationRole[];
    const roles = change(old);
    await ctx.db
      .updateTable("organizationMembers")
      .set({ roles })
      .where("userId", "=", person.id)
      .where("organizationId", "=", organizationId)
      .execute();
    const diff = { roles: { old, new: roles }, ...this.#causeOf(cause) };
    ctx.audit({ action: "update", actorId: person.id, ...this.#audited(organizationId), diff });
    const name = await this.#organizationName(organizationId);
    this.#say(`has the roles ${roles.join(", ") || "member"} in the organization ${name}`, cause);
    return true;
  }

  /** Changes the roles in the deployment. The last owner stays one. */
  async #setSiteRoles(change: (roles: readonly SiteRole[]) => SiteRole[], cause: Cause): Promise<boolean> {
    const { ctx, person } = this;
    const [user] = await lockUsers(ctx, [person.id]);
    if (!user) return false;
    const [old, roles] = [user.siteRoles, change(user.siteRoles)];
    try {
      if (!roles.includes("owner")) await requireAnotherOwner(ctx, user);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "CONFLICT") throw error;
      this.warn(`${person.username} stays an owner: ${error.message}`);
      return false;
    }
    await ctx.db.updateTable("users").set({ siteRoles: roles, updatedAt: now }).where("id", "=", person.id).execute();
    const diff = { siteRoles: { old, new: roles }, ...this.#causeOf(cause) };
    ctx.audit({ action: "update", actorId: person.id, ...auditedAs("user", person.id, person.username), diff });
    this.#say(`has the roles ${roles.join(", ") || "member"} in the deployment`, cause);
    return true;
  }

  async #changeGroup(groupId: string, verb: "joins" | "leaves", cause: Cause): Promise<boolean> {
    const { ctx, person } = this;
    const group = await ctx.db
      .selectFrom("groups")
      .select(["id", "name", "organizationId"])
      .where("id", "=", groupId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!group) return verb === "leaves";
    const { name, organizationId } = group;
    const userId = person.id;
    if (verb === "joins") {
      const isMember = ctx.db.selectFrom("organizationMembers").select("userId").where("userId", "=", userId);
      if (!(await isMember.where("organizationId", "=", organizationId).executeTakeFirst())) {
        this.warn(`${person.username} does not join the group ${name}: it is in another organization.`);
        return false;
      }
      const row = { groupId, organizationId, userId };
      await ctx.db
        .insertInto("groupMembers")
        .values(row)
        .onConflict((known) => known.doNothing())
        .execute();
    } else
      await ctx.db.deleteFrom("groupMembers").where("groupId", "=", groupId).where("userId", "=", userId).execute();
    await ctx.db.updateTable("groups").set({ updatedAt: now }).where("id", "=", groupId).execute();
    const members = verb === "joins" ? { old: [], new: [userId] } : { old: [userId], new: [] };
    const diff = { members, ...this.#causeOf(cause) };
    ctx.audit({ action: "update", actorId: userId, ...auditedAs("group", groupId, name, organizationId), diff });
    this.#say(`${verb} the group ${name}`, cause);
    return true;
  }
}
