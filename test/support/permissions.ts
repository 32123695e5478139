// Compares what `authcheck` says about each permission, for callers of every kind, with an operation that needs it. The
// first part tries the operation as a few of the callers, and the second part as all of them.
import { expect } from "chai";
import { covers, scopeCatalog } from "./catalog.js";
import { newId } from "./ids.js";
import { insertKey } from "./keys.js";
import { enter, type Part, type Stage } from "./stage.js";
import { type Client, GraphqlFailure, world } from "./world.js";

const organizationRoles = ["admin", "template-admin", "user-admin", "auditor"].map((role) => `organization-${role}`);
const [admin, templateAdmin, userAdmin, auditor] = organizationRoles as [string, string, string, string];

/** Every kind of caller, by a letter: holders of site roles, members of the organization, outsiders. */
const parts: Record<string, Part> = {
  O: { siteRoles: ["owner"] },
  T: { siteRoles: ["template-admin"] },
  U: { siteRoles: ["user-admin"] },
  A: { siteRoles: ["auditor"] },
  o: { roles: [admin] },
  t: { roles: [templateAdmin] },
  u: { roles: [userAdmin] },
  a: { roles: [auditor] },
  m: { roles: [] },
  // All roles, but in another organization; and no roles at all.
  x: { rolesElsewhere: organizationRoles },
  n: {},
};
const everybody = Object.keys(parts).join("");
const members = "otuam";

/** A GraphQL document, or a REST request as method, path, and body. */
type Request = string | [method: string, path: string, body?: unknown];

interface Cell {
  permission: Parameters<typeof covers>[1];
  /** The letters of the callers who are allowed. */
  may: string;
  /** The object of the `authcheck` request, beside its type. */
  asked: (stage: Stage) => Record<string, unknown>;
  /** The operation that exercises the permission. */
  tried: (stage: Stage) => Request;
  /** For reads: text that only a response with the object in it contains. */
  shows?: (stage: Stage) => string;
  /** The letters of the callers to try, if others cannot be in that position. */
  by?: string;
  about?: string;
}

const there = ({ organization }: Stage) => ({ organization_id: organization });
const everywhere = () => ({});
const mine = () => ({ owner_id: "me" });
const victims = ({ victim }: Stage) => ({ owner_id: victim });
const stored = (what: keyof Stage) => (stage: Stage) => ({ resource_id: stage[what] });
const is = (what: keyof Stage) => (stage: Stage) => stage[what];
const actor = is("actor");
const change = (verb: string, input: (stage: Stage) => string) => (stage: Stage) =>
  `mutation { ${verb}(input: { ${input(stage)} }) { __typename } }`;
const setRoles = (holder: keyof Stage, role: string) =>
  change("setUserRoles", (s) => `user: "${s[holder]}", roles: [${role}]`);
const setMemberRoles = (member: keyof Stage, role: string) =>
  change(
    "setOrganizationMemberRoles",
    (s) => `organization: "${s.organization}", user: "${s[member]}", roles: [${role}]`,
  );
const api =
  (method: string, path: (stage: Stage) => string, body?: unknown) =>
  (stage: Stage): Request => [method, `/api/v2${path(stage)}`, body];
const title = () => `t${newId().slice(-12)}`;

// The permission table of everything that exists today: one line for each cell that an operation exercises.
// prettier-ignore
const cells: Cell[] = [
  { permission: "invitation:create", may: "OU", asked: everywhere, tried: change("inviteUser", () => `email: "${title()}@example.com", delivery: LINK`) },
  { permission: "invitation:read", may: "OU", asked: everywhere, tried: () => "{ invitations(first: 1) { totalCount } }", shows: () => "totalCount" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: () => "mutation { dismissFirstSteps { __typename } }", about: "the first steps" },
  { permission: "deployment_config:read", may: "OA", asked: everywhere, tried: () => "{ firstSteps { isDismissed } }", shows: () => "isDismissed", about: "the first steps" },
  { permission: "deployment_config:read", may: "OA", asked: everywhere, tried: () => "{ healthChecks { code } }", shows: () => '"healthChecks":[]', about: "the health" },
  { permission: "user:create", may: "OU", asked: everywhere, tried: change("createUser", () => `email: "${title()}@example.com", username: "${title()}", isServiceAccount: true`) },
  { permission: "user:read", may: "OTUAotuax", asked: stored("victim"), tried: (s) => `{ user(user: "${s.victim}") { id email } }`, shows: is("victim") },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: change("updateUser", (s) => `user: "${s.victim}", name: "Changed"`) },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: change("suspendUser", (s) => `user: "${s.victim}"`), about: "suspending" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: change("updateUser", (s) => `user: "${s.holder}", name: "Changed"`), about: "a holder of a site role" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: change("resetUserPassword", (s) => `user: "${s.holder}", password: "seven-lamps-beside-the-old-canal"`), about: "the password of a holder of a site role" },
  { permission: "user:delete", may: "OU", asked: stored("victim"), tried: change("deleteUser", (s) => `user: "${s.victim}"`) },
  { permission: "user:delete", may: "O", asked: stored("holder"), tried: change("deleteUser", (s) => `user: "${s.holder}"`), about: "a holder of a site role" },
  { permission: "user:read", may: everybody, asked: mine, tried: () => `{ me { id email } }`, shows: actor, about: "oneself" },
  { permission: "user:update_personal", may: everybody, asked: mine, tried: change("updateProfile", () => `name: "${title()}"`), about: "oneself" },
  { permission: "user:read_personal", may: "OU", asked: stored("victim"), tried: api("GET", (s) => `/users/${s.victim}/quiet-hours`), shows: () => "timezone" },
  { permission: "user:read_personal", may: everybody, asked: mine, tried: api("GET", () => "/users/me/quiet-hours"), shows: () => "timezone", about: "oneself" },
  { permission: "user:update_personal", may: "OU", asked: stored("victim"), tried: api("PUT", (s) => `/users/${s.victim}/quiet-hours`, { schedule: "0 1 * * *" }) },
  { permission: "user:update_personal", may: "O", asked: stored("holder"), tried: api("PUT", (s) => `/users/${s.holder}/quiet-hours`, { schedule: "0 1 * * *" }), about: "a holder of a site role" },

  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "AUDITOR") },
  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "OWNER"), about: "owner" },
  { permission: "assign_role:unassign", may: "O", asked: everywhere, tried: setRoles("holder", "") },
  { permission: "assign_role:read", may: "OUA", asked: everywhere, tried: () => "{ assignableRoles { name } }", shows: () => "AUDITOR" },
  { permission: "assign_org_role:assign", may: "OUou", asked: there, tried: setMemberRoles("victim", "ORGANIZATION_USER_ADMIN") },
  { permission: "assign_org_role:unassign", may: "OUou", asked: there, tried: setMemberRoles("bot", "") },
  { permission: "assign_org_role:read", may: "OTUAotuam", asked: there, tried: (s) => `{ assignableRoles(organization: "${s.organization}") { name } }`, shows: () => "ORGANIZATION_ADMIN" },

  { permission: "organization:create", may: "O", asked: everywhere, tried: change("createOrganization", () => `name: "${title()}"`) },
  { permission: "organization:read", may: "OTUAotuam", asked: stored("organization"), tried: (s) => `{ organization(organization: "${s.organization}") { id } }`, shows: is("organization") },
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
  { permission: "group_member:read", may: members, asked: (s) => ({ ...there(s), ...mine() }), tried: api("GET", (s) => `/groups/${s.team}/members`), shows: actor, by: members, about: "oneself" },
  { permission: "group_ai_budget:create", may: "OUou", asked: there, tried: api("PUT", (s) => `/groups/${s.group}/ai/budget`, { spend_limit_micros: 7 }) },
  { permission: "group_ai_budget:read", may: "OUAoua", asked: there, tried: api("GET", (s) => `/groups/${s.team}/ai/budget`), shows: is("team") },
  { permission: "group_ai_budget:update", may: "OUou", asked: there, tried: api("PUT", (s) => `/groups/${s.team}/ai/budget`, { spend_limit_micros: 7 }) },
  { permission: "group_ai_budget:delete", may: "OUou", asked: there, tried: api("DELETE", (s) => `/groups/${s.team}/ai/budget`) },

  { permission: "api_key:create", may: everybody, asked: mine, tried: change("createApiKey", () => `name: "${title()}"`), about: "one's own" },
  { permission: "api_key:create", may: "OU", asked: ({ bot }) => ({ owner_id: bot }), tried: change("createApiKey", (s) => `name: "new", user: "${s.bot}"`), about: "for a service account" },
  { permission: "api_key:create", may: "", asked: victims, tried: change("createApiKey", (s) => `name: "new", user: "${s.victim}"`), about: "for another user" },
  { permission: "api_key:read", may: everybody, asked: mine, tried: () => "{ apiKeys { id } }", shows: is("ownKey"), about: "one's own" },
  { permission: "api_key:read", may: "OU", asked: victims, tried: (s) => `{ apiKeys(user: "${s.victim}") { id } }`, shows: is("key") },
  { permission: "api_key:update", may: everybody, asked: mine, tried: change("updateApiKey", (s) => `id: "${s.ownKey}", name: "renamed"`), about: "one's own" },
  { permission: "api_key:update", may: "", asked: victims, tried: change("updateApiKey", (s) => `id: "${s.key}", name: "renamed"`) },
  { permission: "api_key:delete", may: everybody, asked: mine, tried: change("revokeApiKey", (s) => `id: "${s.ownKey}"`), about: "one's own" },
  { permission: "api_key:delete", may: "OU", asked: victims, tried: change("revokeApiKey", (s) => `id: "${s.key}"`) },

  { permission: "license:create", may: "O", asked: everywhere, tried: api("POST", () => "/licenses/refresh-entitlements") },
  { permission: "license:read", may: "O", asked: everywhere, tried: api("GET", () => "/licenses"), shows: () => "[]" },

  { permission: "workspace_proxy:create", may: "O", asked: everywhere, tried: change("createWorkspaceProxy", () => `name: "${title()}"`) },
  { permission: "workspace_proxy:read", may: everybody, asked: everywhere, tried: api("GET", () => "/workspaceproxies"), shows: () => '"primary"' },
  { permission: "workspace_proxy:update", may: "O", asked: everywhere, tried: api("PATCH", () => "/workspaceproxies/primary", { display_name: "Changed" }) },

  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: api("PUT", () => "/appearance", { application_name: "Forge" }), about: "the appearance" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: () => "mutation { releaseHeldWorkspaces { __typename } }", about: "the workspaces of suspended users" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: change("updatePrebuildsSettings", () => "reconciliationPaused: true"), about: "the settings of prebuilds" },
  { permission: "connection_log:read", may: "OAoa", asked: there, tried: api("GET", (s) => `/connectionlog?limit=1&q=workspace_owner:${s.victim}`), shows: is("organization") },
  { permission: "audit_log:read", may: "OAoa", asked: there, tried: (s) => `{ auditEvents(filter: { organization: "${s.organization}" }) { nodes { resourceId } } }`, shows: is("organization") },

  { permission: "user_secret:create", may: everybody, asked: mine, tried: api("POST", () => "/users/me/secrets", { name: "new", value: "v" }), about: "one's own" },
  { permission: "user_secret:create", may: "", asked: victims, tried: api("POST", (s) => `/users/${s.victim}/secrets`, { name: "new", value: "v" }) },
  { permission: "user_secret:read", may: everybody, asked: mine, tried: api("GET", () => "/users/me/secrets/kept"), shows: () => "kept", about: "one's own" },
  { permission: "user_secret:read", may: "", asked: victims, tried: api("GET", (s) => `/users/${s.victim}/secrets/kept`), shows: () => "kept" },
  { permission: "user_secret:read", may: "", asked: victims, tried: api("GET", (s) => `/users/${s.victim}/secrets`), shows: () => "kept", about: "in the list" },
  { permission: "user_secret:update", may: everybody, asked: mine, tried: api("PATCH", () => "/users/me/secrets/kept", { description: "d" }), about: "one's own" },
  { permission: "user_secret:update", may: "", asked: victims, tried: api("PATCH", (s) => `/users/${s.victim}/secrets/kept`, { description: "d" }) },
  { permission: "user_secret:delete", may: everybody, asked: mine, tried: api("DELETE", () => "/users/me/secrets/kept"), about: "one's own" },
  { permission: "user_secret:delete", may: "", asked: victims, tried: api("DELETE", (s) => `/users/${s.victim}/secrets/kept`) },

  { permission: "system:read", may: "O", asked: everywhere, tried: () => "{ encryptionStatus { activeKeyId } }", shows: () => "activeKeyId" },

  { permission: "inbox_notification:read", may: everybody, asked: mine, tried: api("GET", () => "/notifications/inbox"), shows: is("ownNote"), about: "one's own" },
  { permission: "inbox_notification:read", may: "", asked: victims, tried: api("GET", () => "/notifications/inbox"), shows: is("note") },
  { permission: "inbox_notification:update", may: everybody, asked: mine, tried: api("PUT", (s) => `/notifications/inbox/${s.ownNote}/read-status`, { is_read: true }), about: "one's own" },
  { permission: "inbox_notification:update", may: "", asked: victims, tried: api("PUT", (s) => `/notifications/inbox/${s.note}/read-status`, { is_read: true }) },
  { permission: "notification_message:create", may: everybody, asked: mine, tried: api("POST", () => "/notifications/custom", { content: { title: "Lunch", message: "" } }), about: "a custom one" },
];

/** The outcome of a request. Any failure other than a denied permission fails the test. */
interface Outcome {
  isAllowed: boolean;
  refusal?: "FORBIDDEN" | "NOT_FOUND";
  /** The scopes that the credential lacks. */
  missing?: string[];
}

async function outcomeOf(client: Client, request: Request, shown = ""): Promise<Outcome> {
  if (typeof request === "string") return outcomeOfDocument(client, request, shown);
  const [method, path, body] = request;
  const answer = await client.request(method, path, body);
  if (answer.status !== 403 && answer.status !== 404) {
    expect(answer.status, JSON.stringify(answer.body)).to.be.within(200, 204);
    return { isAllowed: JSON.stringify(answer.body).includes(shown) };
  }
  const challenge = answer.headers.get("www-authenticate") ?? "";
  return {
    isAllowed: false,
    refusal: answer.status === 403 ? "FORBIDDEN" : "NOT_FOUND",
    missing: /error="insufficient_scope", scope="(.*)"/.exec(challenge)?.[1]?.split(" "),
  };
}

async function outcomeOfDocument(client: Client, document: string, shown: string): Promise<Outcome> {
  try {
    return { isAllowed: JSON.stringify(await client.graphql(document)).includes(shown) };
  } catch (error) {
    if (!(error instanceof GraphqlFailure) || !["FORBIDDEN", "NOT_FOUND", "CONFLICT"].includes(error.code)) throw error;
    // The state of the object is looked at after the permission.
    if (error.code === "CONFLICT") return { isAllowed: true };
    const missing = error.errors[0]!.extensions.requiredScopes as string[] | undefined;
    return { isAllowed: false, refusal: error.code as Outcome["refusal"], missing };
  }
}

const titleOf = ({ permission, about }: Cell) => (about ? `${permission}, ${about}` : permission);

/** Of the callers that a cell has, those that the first part tries: an allowed one, a rejected one, and user admins. */
function fewOf({ may, by = everybody }: Cell, turn: number): string {
  const allowed = Array.from(by).filter((letter) => may.includes(letter));
  const rejected = Array.from(by).filter((letter) => !may.includes(letter));
  const chosen = new Set([allowed[turn % allowed.length], rejected[turn % rejected.length], "U"]);
  return Array.from(by)
    .filter((letter) => chosen.has(letter))
    .join("");
}

export function testPermissions(part: "first" | "rest"): void {
  describe(`permissions, ${part === "first" ? "tried by a few callers" : "tried by all callers"}`, () =>
    testCells(part));
}

function testCells(part: "first" | "rest"): void {
  const the = world();
  const standing = new Map<string, ReturnType<typeof enter>>();
  const said = new Map<string, ReturnType<typeof askAll>>();

  /** A new stage for a caller who changes something on it, else one for all that a caller reads or may not do. */
  function stageOf(letter: string, changes: boolean): ReturnType<typeof enter> {
    const made = (changes ? undefined : standing.get(letter)) ?? enter(the(), parts[letter]!);
    if (!changes) standing.set(letter, made);
    return made;
  }

  /** The results of `authcheck` for cells: for the permission, and for reading the same object. */
  async function ask(client: Client, stage: Stage, asked: Cell[]) {
    const checks = asked.flatMap((cell, nr) => {
      const [resource_type, action] = cell.permission.split(":");
      const object = { resource_type, ...cell.asked(stage) };
      return [
        [`${nr} it`, { action, object }],
        [`${nr} read`, { action: "read", object }],
      ];
    });
    const { status, body } = await client.post("/api/v2/authcheck", { checks: Object.fromEntries(checks) });
    expect(status, JSON.stringify(body)).to.equal(200);
    return asked.map((_, nr) => ({ it: body[`${nr} it`] as boolean, read: body[`${nr} read`] as boolean }));
  }

  async function askAll(letter: string) {
    const { client, stage } = await stageOf(letter, false);
    // A request may check ten objects.
    const turns = cells.flatMap((_, nr) => (nr % 5 === 0 ? [cells.slice(nr, nr + 5)] : []));
    return (await Promise.all(turns.map((turn) => ask(client, stage, turn)))).flat();
  }

  /** Everything that a caller is told about the cells, asked once. */
  function saidTo(letter: string): ReturnType<typeof askAll> {
    const known = said.get(letter) ?? askAll(letter);
    said.set(letter, known);
    return known;
  }

  for (const [nr, cell] of cells.entries()) {
    it(`${titleOf(cell)}: ${cell.may || "no caller"}`, async () => {
      const { may, tried, shows, by = everybody } = cell;
      const letters = part === "first" ? fewOf(cell, nr) : by;
      const answers = await Promise.all(
        Array.from(by, async (letter) => {
          const { it: isSaid, read } = (await saidTo(letter))[nr]!;
          const asked = isSaid ? letter : "";
          if (!letters.includes(letter)) return { asked, tried: "" };
          const { client, stage } = await stageOf(letter, may.includes(letter) && !shows);
          const { isAllowed, refusal } = await outcomeOf(client, tried(stage), shows?.(stage));
          if (refusal && "resource_id" in cell.asked(stage)) {
            expect(refusal, letter).to.equal(read ? "FORBIDDEN" : "NOT_FOUND");
          }
          return { asked, tried: isAllowed ? letter : "" };
        }),
      );
      const lettersOf = (way: "asked" | "tried") => answers.map((answer) => answer[way]).join("");
      const allowed = Array.from(may).filter((letter) => letters.includes(letter));
      expect({ asked: lettersOf("asked"), tried: lettersOf("tried") }).to.deep.equal({
        asked: may,
        tried: allowed.join(""),
      });
    });
  }

  // Every credential reads its own user, whatever its scopes. Creating a budget counts as updating it.
  const hasScope = ({ may, shows, permission }: Cell) =>
    may.startsWith("O") && shows !== actor && permission !== "group_ai_budget:create";
  for (const cell of part === "first" ? cells.filter(hasScope) : []) {
    it(`${titleOf(cell)}: credentials without its scope are told what is missing, and succeed with that`, async () => {
      const { permission, tried, shows } = cell;
      const attempt = async (scopes: string[], changes: boolean) => {
        const { stage } = await stageOf("O", changes);
        const client = the().as({ token: (await insertKey(the(), { id: stage.actor }, "session", scopes)).text });
        const [answer] = await ask(client, stage, [cell]);
        return { isSaidToBeAllowed: answer!.it, ...(await outcomeOf(client, tried(stage), shows?.(stage))) };
      };
      const without = await attempt(
        scopeCatalog.filter((scope) => !covers([scope], permission)),
        false,
      );
      expect(without).to.include({ isSaidToBeAllowed: false, isAllowed: false });
      expect(covers(without.missing ?? [], permission)).to.equal(true);

      const { missing = [] } = await attempt(["file:read"], false);
      expect(scopeCatalog).to.include.members(missing);
      const outcome = await attempt(missing, !shows);
      expect(outcome, `with ${missing.join(", ")}`).to.include({ isSaidToBeAllowed: true, isAllowed: true });
    });
  }
}
