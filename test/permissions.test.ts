import { expect } from "chai";
import { newId } from "../src/domain/ids.js";
import { scopeCatalogue } from "../src/domain/authorization.js";
import { covers } from "../src/domain/authorization/scopes.js";
import type { Permission } from "../src/domain/authorization.js";
import { userHint } from "../src/domain/tokens/credentials.js";
import { newToken } from "../src/domain/tokens/text.js";
import { Client, GraphqlFailure, world } from "./support/world.js";

/** Everybody who tries, by one letter: holders of site roles, of roles in the organisation of the object, and outsiders. */
const roles: Record<string, string[]> = {
  O: ["owner"],
  T: ["template-admin"],
  U: ["user-admin"],
  A: ["auditor"],
  o: ["organization-admin"],
  t: ["organization-template-admin"],
  u: ["organization-user-admin"],
  a: ["organization-auditor"],
  m: [],
  // All roles of an organisation, but of another one; and none at all.
  x: ["organization-admin", "organization-template-admin", "organization-user-admin", "organization-auditor"],
  n: [],
};
const everybody = Object.keys(roles).join("");
const members = "otuam";

/** What an attempt is about: a small organisation of its own, so that nothing that succeeds is in another's way. */
type Stage = Record<
  "actor" | "organization" | "group" | "team" | "victim" | "holder" | "newcomer" | "bot" | "key" | "ownKey" | "note" | "ownNote",
  string
>;

/** GraphQL as a document, REST as method, path and body. */
type Request = string | [method: string, path: string, body?: unknown];

interface Cell {
  permission: Permission;
  /** The letters of those who may. */
  may: string;
  /** How `authcheck` is asked for it: the object beside its type. */
  asked: (stage: Stage) => Record<string, unknown>;
  /** How it is tried. */
  tried: (stage: Stage) => Request;
  /** For what is read: a text that only an answer with the object in it contains. */
  shows?: (stage: Stage) => string;
  /** The letters of those who try, if others cannot be in that place. */
  by?: string;
  about?: string;
}

const there = ({ organization }: Stage) => ({ organization_id: organization });
const everywhere = () => ({});
const mine = () => ({ owner_id: "me" });
const victims = ({ victim }: Stage) => ({ owner_id: victim });
const stored = (what: keyof Stage) => (stage: Stage) => ({ resource_id: stage[what] });
const is = (what: keyof Stage) => (stage: Stage) => stage[what];
const change = (verb: string, input: (stage: Stage) => string) => (stage: Stage) =>
  `mutation { ${verb}(input: { ${input(stage)} }) { __typename } }`;
const setRoles = (holder: keyof Stage, role: string) =>
  change("setUserRoles", (s) => `user: "${s[holder]}", roles: [${role}]`);
const setMemberRoles = (member: keyof Stage, role: string) =>
  change("setOrganizationMemberRoles", (s) => `organization: "${s.organization}", user: "${s[member]}", roles: [${role}]`);
const api = (method: string, path: (stage: Stage) => string, body?: unknown) => (stage: Stage): Request =>
  [method, `/api/v2${path(stage)}`, body];
const title = () => `t${newId().slice(-12)}`;

// The permission table of what there is to be done today, one line for each cell that an operation stands behind.
// prettier-ignore
const cells: Cell[] = [
  { permission: "user:create", may: "OU", asked: everywhere, tried: change("createUser", () => `email: "${title()}@example.com", username: "${title()}", isServiceAccount: true`) },
  { permission: "user:read", may: "OTUAotuax", asked: stored("victim"), tried: (s) => `{ user(id: "${s.victim}") { id email } }`, shows: is("victim") },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: change("updateUser", (s) => `user: "${s.victim}", name: "Changed"`) },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: change("suspendUser", (s) => `user: "${s.victim}"`), about: "suspending" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: change("updateUser", (s) => `user: "${s.holder}", name: "Changed"`), about: "a holder of a site role" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: change("resetUserPassword", (s) => `user: "${s.holder}", password: "seven-lamps-beside-the-old-canal"`), about: "the password of a holder of a site role" },
  { permission: "user:delete", may: "OU", asked: stored("victim"), tried: change("deleteUser", (s) => `user: "${s.victim}"`) },
  { permission: "user:delete", may: "O", asked: stored("holder"), tried: change("deleteUser", (s) => `user: "${s.holder}"`), about: "a holder of a site role" },
  { permission: "user:read", may: everybody, asked: mine, tried: () => `{ me { id email } }`, shows: is("actor"), about: "oneself" },
  { permission: "user:update_personal", may: everybody, asked: mine, tried: change("updateProfile", () => `name: "${title()}"`), about: "oneself" },

  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "AUDITOR") },
  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "OWNER"), about: "owner" },
  { permission: "assign_role:unassign", may: "O", asked: everywhere, tried: setRoles("holder", "") },
  { permission: "assign_role:read", may: "OUA", asked: everywhere, tried: () => "{ assignableRoles { name } }", shows: () => "AUDITOR" },
  { permission: "assign_org_role:assign", may: "OUou", asked: there, tried: setMemberRoles("victim", "ORGANIZATION_USER_ADMIN") },
  { permission: "assign_org_role:unassign", may: "OUou", asked: there, tried: setMemberRoles("holder", "") },
  { permission: "assign_org_role:read", may: "OTUAotuam", asked: there, tried: (s) => `{ assignableRoles(organization: "${s.organization}") { name } }`, shows: () => "ORGANIZATION_ADMIN" },

  { permission: "organization:create", may: "O", asked: everywhere, tried: change("createOrganization", () => `name: "${title()}"`) },
  { permission: "organization:read", may: "OTUAotuam", asked: stored("organization"), tried: (s) => `{ organization(id: "${s.organization}") { id } }`, shows: is("organization") },
  { permission: "organization:read", may: "OTUAotuam", asked: there, tried: () => "{ organizations { id } }", shows: is("organization"), about: "in the list" },
  { permission: "organization:update", may: "Oo", asked: stored("organization"), tried: change("updateOrganization", (s) => `organization: "${s.organization}", description: "Changed"`) },
  { permission: "organization:delete", may: "O", asked: stored("organization"), tried: change("deleteOrganization", (s) => `organization: "${s.organization}"`) },

  { permission: "organization_member:create", may: "OUou", asked: there, tried: change("addOrganizationMember", (s) => `organization: "${s.organization}", user: "${s.newcomer}"`) },
  { permission: "organization_member:read", may: "OTUAotuam", asked: there, tried: (s) => `{ organizationMembers(organization: "${s.organization}") { nodes { id } } }`, shows: is("victim") },
  { permission: "organization_member:delete", may: "OUou", asked: there, tried: change("removeOrganizationMember", (s) => `organization: "${s.organization}", user: "${s.victim}"`) },

  { permission: "group:create", may: "OUou", asked: there, tried: api("POST", (s) => `/organizations/${s.organization}/groups`, { name: "new-group" }) },
  { permission: "group:read", may: "OTUAotua", asked: stored("group"), tried: api("GET", (s) => `/groups/${s.group}`), shows: is("group") },
  { permission: "group:read", may: members, asked: stored("team"), tried: api("GET", (s) => `/groups/${s.team}`), shows: is("team"), by: members, about: "one they are in" },
  { permission: "group:update", may: "OUou", asked: stored("group"), tried: api("PATCH", (s) => `/groups/${s.group}`, { display_name: "Changed" }) },
  { permission: "group:delete", may: "OUou", asked: stored("group"), tried: api("DELETE", (s) => `/groups/${s.group}`) },
  { permission: "group_member:read", may: "OTUAotua", asked: (s) => ({ ...there(s), ...victims(s) }), tried: api("GET", (s) => `/groups/${s.team}/members`), shows: is("victim") },
  { permission: "group_member:read", may: members, asked: (s) => ({ ...there(s), ...mine() }), tried: api("GET", (s) => `/groups/${s.team}/members`), shows: is("actor"), by: members, about: "oneself" },
  { permission: "group_ai_budget:create", may: "OUou", asked: there, tried: api("PUT", (s) => `/groups/${s.group}/ai/budget`, { spend_limit_micros: 7 }) },
  { permission: "group_ai_budget:read", may: "OUAoua", asked: there, tried: api("GET", (s) => `/groups/${s.team}/ai/budget`), shows: is("team") },
  { permission: "group_ai_budget:update", may: "OUou", asked: there, tried: api("PUT", (s) => `/groups/${s.team}/ai/budget`, { spend_limit_micros: 7 }) },
  { permission: "group_ai_budget:delete", may: "OUou", asked: there, tried: api("DELETE", (s) => `/groups/${s.team}/ai/budget`) },

  { permission: "api_key:create", may: everybody, asked: mine, tried: change("createApiKey", () => `name: "${title()}"`), about: "one's own" },
  { permission: "api_key:create", may: "OU", asked: ({ bot }) => ({ owner_id: bot }), tried: change("createApiKey", (s) => `name: "new", user: "${s.bot}"`), about: "for a service account" },
  { permission: "api_key:create", may: "", asked: victims, tried: change("createApiKey", (s) => `name: "new", user: "${s.victim}"`), about: "for somebody else" },
  { permission: "api_key:read", may: everybody, asked: mine, tried: () => "{ apiKeys { id } }", shows: is("ownKey"), about: "one's own" },
  { permission: "api_key:read", may: "OU", asked: victims, tried: (s) => `{ apiKeys(user: "${s.victim}") { id } }`, shows: is("key") },
  { permission: "api_key:update", may: everybody, asked: mine, tried: change("updateApiKey", (s) => `id: "${s.ownKey}", name: "renamed"`), about: "one's own" },
  { permission: "api_key:update", may: "", asked: victims, tried: change("updateApiKey", (s) => `id: "${s.key}", name: "renamed"`) },
  { permission: "api_key:delete", may: everybody, asked: mine, tried: change("revokeApiKey", (s) => `id: "${s.ownKey}"`), about: "one's own" },
  { permission: "api_key:delete", may: "OU", asked: victims, tried: change("revokeApiKey", (s) => `id: "${s.key}"`) },

  { permission: "audit_log:read", may: "OAoa", asked: there, tried: (s) => `{ auditEvents(filter: { organization: "${s.organization}" }) { nodes { resourceId } } }`, shows: is("organization") },

  { permission: "inbox_notification:read", may: everybody, asked: mine, tried: api("GET", () => "/notifications/inbox"), shows: is("ownNote"), about: "one's own" },
  { permission: "inbox_notification:read", may: "", asked: victims, tried: api("GET", () => "/notifications/inbox"), shows: is("note") },
  { permission: "inbox_notification:update", may: everybody, asked: mine, tried: api("PUT", (s) => `/notifications/inbox/${s.ownNote}/read-status`, { is_read: true }), about: "one's own" },
  { permission: "inbox_notification:update", may: "", asked: victims, tried: api("PUT", (s) => `/notifications/inbox/${s.note}/read-status`, { is_read: true }) },
  { permission: "notification_message:create", may: everybody, asked: mine, tried: api("POST", () => "/notifications/custom", { content: { title: "Lunch", message: "" } }), about: "a custom one" },
];

/** What came of a request. Whatever is no refusal of permission is a fault of the test or a defect. */
interface Outcome {
  isAllowed: boolean;
  /** What the credential lacks. */
  missingScope?: string;
}

async function outcomeOf(client: Client, request: Request, shown = ""): Promise<Outcome> {
  if (typeof request === "string") return outcomeOfDocument(client, request, shown);
  const [method, path, body] = request;
  const answer = await client.request(method, path, body);
  if (answer.status === 403 || answer.status === 404) {
    const challenge = answer.headers.get("www-authenticate") ?? "";
    return { isAllowed: false, missingScope: /error="insufficient_scope", scope="(.*)"/.exec(challenge)?.[1] };
  }
  expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 204);
  return { isAllowed: JSON.stringify(answer.body).includes(shown) };
}

async function outcomeOfDocument(client: Client, document: string, shown: string): Promise<Outcome> {
  try {
    return { isAllowed: JSON.stringify(await client.graphql(document)).includes(shown) };
  } catch (error) {
    if (!(error instanceof GraphqlFailure) || !["FORBIDDEN", "NOT_FOUND"].includes(error.code)) throw error;
    return { isAllowed: false, missingScope: (error.errors[0]!.extensions.requiredScopes as string[] | undefined)?.[0] };
  }
}

describe("the permission table", () => {
  const the = world();

  /** A stage with somebody of these roles on it. */
  async function enter(letter: string, scopes = ["all"]): Promise<{ client: Client; stage: Stage }> {
    const w = the();
    const { text, id: tokenId, secretHash } = newToken("session");
    const names = ["actor", "organization", "group", "team", "victim", "holder", "newcomer", "bot", "note", "ownNote"] as const;
    const ids = Object.fromEntries(names.map((name) => [name, newId()])) as Record<(typeof names)[number], string>;
    const stage: Stage = { ...ids, key: randomText(10), ownKey: randomText(10) };
    const { actor, organization, group, team, victim, holder, newcomer, bot, note, ownNote } = ids;
    const isMember = members.includes(letter);
    const held = `{${roles[letter]}}`;
    const name = (id: string) => id.replaceAll("-", "");
    const now = "now(), now()";
    const person = (id: string, siteRoles = "{}", loginType = "password") =>
      `('${id}', ${now}, '${id}@example.com', '${name(id)}', '${loginType}', ${loginType === "none"}, '${siteRoles}')`;
    const key = (id: string, userId: string, kind: string, hash = "") =>
      `('${id}', '\\x${hash}', '${userId}', '${kind}', '${id}', '{${scopes}}', ${now}, now() + interval '1 hour')`;
    const notification = (id: string, userId: string) =>
      `('${id}', '${userId}', 1, '${newId()}', '{}', 'Hello', '', '', '[]', now())`;
    await w.app.services.database.pool.query(`
      insert into organizations (id, created_at, updated_at, name) values ('${organization}', ${now}, '${name(organization)}');
      insert into users (id, created_at, updated_at, email, username, login_type, is_service_account, site_roles)
        values ${person(actor, /[OTUA]/.test(letter) ? held : "{}")}, ${person(victim)}, ${person(holder, "{auditor}")},
          ${person(newcomer)}, ${person(bot, "{}", "none")};
      insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, last_used_at, expires_at)
        values ${key(tokenId, actor, "session", secretHash.toString("hex"))}, ${key(stage.ownKey, actor, "token")},
          ${key(stage.key, victim, "token")};
      insert into organization_members (organization_id, user_id, roles, created_at)
        select '${organization}', id, '{}', now() from unnest('{${[victim, holder, bot]}}'::uuid[]) id;
      insert into organization_members (organization_id, user_id, roles, created_at)
        select id, '${actor}', '${held}', now()
        from unnest('{${isMember ? organization : letter === "x" ? w.defaultOrganization : ""}}'::uuid[]) id;
      insert into groups (id, created_at, updated_at, organization_id, name)
        select id, ${now}, '${organization}', right(id::text, 12) from unnest('{${[group, team]}}'::uuid[]) id;
      insert into group_members (group_id, organization_id, user_id) values
        ('${group}', '${organization}', '${victim}'), ('${team}', '${organization}', '${isMember ? actor : holder}');
      insert into group_ai_budgets (group_id, spend_limit_micros, created_at, updated_at) values ('${team}', 5, ${now});
      insert into inbox_cursors (user_id, last_seq, unread_count) values ('${actor}', 1, 1), ('${victim}', 1, 1);
      insert into inbox_notifications
        (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
        values ${notification(note, victim)}, ${notification(ownNote, actor)};
      insert into audit_events
        (id, time, actor_kind, action, resource_type, resource_id, organization_id, diff, request_id)
        values ('${newId()}', now(), 'system', 'create', 'organization', '${organization}', '${organization}', '{}', 'stage')`);
    return { client: w.as({ token: text }), stage };
  }
});
