// Compares what `authcheck` says about each permission, for callers of every kind, with an operation that needs it. The
// first part tries the operation as a few of the callers, and the second part as all of them.
import { expect } from "chai";
import { covers, scopeCatalog } from "./catalog.js";
import { insertKey } from "./keys.js";
import type { Request } from "./operation-requests.js";
import { documentOf, type Place, requestOf } from "./operations.js";
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

/** A GraphQL document, or a request to a row. */
type Tried = string | Request;

interface Cell {
  permission: Parameters<typeof covers>[1];
  /** The letters of the callers who are allowed. */
  may: string;
  /** The object of the `authcheck` request, beside its type. */
  asked: (stage: Stage) => Record<string, unknown>;
  /** The operation that exercises the permission. */
  tried: (stage: Stage) => Tried;
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

/** An operation of the catalog, on the objects of the victim unless others are given. */
const of =
  (title: string, given?: (stage: Stage) => Partial<Place>, selection?: string) =>
  (stage: Stage): Tried =>
    documentOf(title, { ...stage, user: stage.victim, ...given?.(stage) }, selection);
/** The request to its row. */
const row =
  (title: string, given?: (stage: Stage) => Partial<Place>) =>
  (stage: Stage): Tried =>
    requestOf(title, { ...stage, user: stage.victim, ...given?.(stage) });
const self = () => ({ user: "me" });
const change = (verb: string, input: (stage: Stage) => string) => (stage: Stage) =>
  `mutation { ${verb}(input: { ${input(stage)} }) { __typename } }`;
const setRoles = (holder: keyof Stage, role: string) =>
  change("setUserRoles", (s) => `user: "${s[holder]}", roles: [${role}]`);
const setMemberRoles = (member: keyof Stage, role: string) =>
  change(
    "setOrganizationMemberRoles",
    (s) => `organization: "${s.organization}", user: "${s[member]}", roles: [${role}]`,
  );

// The permission table of everything that exists today: one line for each cell that an operation exercises.
// prettier-ignore
const cells: Cell[] = [
  { permission: "invitation:create", may: "OU", asked: everywhere, tried: of("inviteUser") },
  { permission: "invitation:read", may: "OU", asked: everywhere, tried: of("invitations", undefined, "totalCount"), shows: () => "totalCount" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: of("dismissFirstSteps"), about: "the first steps" },
  { permission: "deployment_config:read", may: "OA", asked: everywhere, tried: of("firstSteps"), shows: () => "isDismissed", about: "the first steps" },
  { permission: "deployment_config:read", may: "OA", asked: everywhere, tried: of("healthChecks"), shows: () => '"healthChecks":[]', about: "the health" },
  { permission: "user:create", may: "OU", asked: everywhere, tried: of("createUser") },
  { permission: "user:read", may: "OTUAotuax", asked: stored("victim"), tried: of("user"), shows: is("victim") },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: of("updateUser") },
  { permission: "user:update", may: "OU", asked: stored("victim"), tried: of("suspendUser"), about: "suspending" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: of("updateUser", (s) => ({ user: s.holder })), about: "a holder of a site role" },
  { permission: "user:update", may: "O", asked: stored("holder"), tried: of("resetUserPassword", (s) => ({ user: s.holder })), about: "the password of a holder of a site role" },
  { permission: "user:delete", may: "OU", asked: stored("victim"), tried: of("deleteUser") },
  { permission: "user:delete", may: "O", asked: stored("holder"), tried: of("deleteUser", (s) => ({ user: s.holder })), about: "a holder of a site role" },
  { permission: "user:read", may: everybody, asked: mine, tried: of("me"), shows: actor, about: "oneself" },
  { permission: "user:update_personal", may: everybody, asked: mine, tried: of("updateProfile"), about: "oneself" },
  { permission: "user:read_personal", may: "OU", asked: stored("victim"), tried: row("quietHours"), shows: () => "timezone" },
  { permission: "user:read_personal", may: everybody, asked: mine, tried: row("quietHours", self), shows: () => "timezone", about: "oneself" },
  { permission: "user:update_personal", may: "OU", asked: stored("victim"), tried: row("setQuietHours") },
  { permission: "user:update_personal", may: "O", asked: stored("holder"), tried: row("setQuietHours", (s) => ({ user: s.holder })), about: "a holder of a site role" },

  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "AUDITOR") },
  { permission: "assign_role:assign", may: "O", asked: everywhere, tried: setRoles("victim", "OWNER"), about: "owner" },
  { permission: "assign_role:unassign", may: "O", asked: everywhere, tried: setRoles("holder", "") },
  { permission: "assign_role:read", may: "OUA", asked: everywhere, tried: of("assignableRoles"), shows: () => "AUDITOR" },
  { permission: "assign_org_role:assign", may: "OUou", asked: there, tried: setMemberRoles("victim", "ORGANIZATION_USER_ADMIN") },
  { permission: "assign_org_role:unassign", may: "OUou", asked: there, tried: setMemberRoles("bot", "") },
  { permission: "assign_org_role:read", may: "OTUAotuam", asked: there, tried: of("assignableRoles of an organization"), shows: () => "ORGANIZATION_ADMIN" },

  { permission: "organization:create", may: "O", asked: everywhere, tried: of("createOrganization") },
  { permission: "organization:read", may: "OTUAotuam", asked: stored("organization"), tried: of("organization"), shows: is("organization") },
  { permission: "organization:read", may: "OTUAotuam", asked: there, tried: of("organizations"), shows: is("organization"), about: "in the list" },
  { permission: "organization:update", may: "Oo", asked: stored("organization"), tried: of("updateOrganization") },
  { permission: "organization:delete", may: "O", asked: stored("organization"), tried: of("deleteOrganization") },

  { permission: "organization_member:create", may: "OUou", asked: there, tried: of("addOrganizationMember") },
  { permission: "organization_member:read", may: "OTUAotuam", asked: there, tried: of("organizationMembers"), shows: is("victim") },
  { permission: "organization_member:delete", may: "OUou", asked: there, tried: of("removeOrganizationMember") },

  { permission: "group:create", may: "OUou", asked: there, tried: row("createGroup") },
  { permission: "group:read", may: "OTUAotua", asked: stored("group"), tried: row("group"), shows: is("group") },
  { permission: "group:read", may: members, asked: stored("team"), tried: row("group", (s) => ({ group: s.team })), shows: is("team"), by: members, about: "one they are in" },
  { permission: "group:update", may: "OUou", asked: stored("group"), tried: row("updateGroup") },
  { permission: "group:delete", may: "OUou", asked: stored("group"), tried: row("deleteGroup") },
  { permission: "group_member:read", may: "OTUAotua", asked: (s) => ({ ...there(s), ...victims(s) }), tried: row("group with its members", (s) => ({ group: s.team })), shows: is("victim") },
  { permission: "group_member:read", may: members, asked: (s) => ({ ...there(s), ...mine() }), tried: row("group with its members", (s) => ({ group: s.team })), shows: actor, by: members, about: "oneself" },
  { permission: "group_ai_budget:create", may: "OUou", asked: there, tried: row("setGroupAiBudget") },
  { permission: "group_ai_budget:read", may: "OUAoua", asked: there, tried: row("groupAiBudget"), shows: is("team") },
  { permission: "group_ai_budget:update", may: "OUou", asked: there, tried: row("setGroupAiBudget", (s) => ({ group: s.team })) },
  { permission: "group_ai_budget:delete", may: "OUou", asked: there, tried: row("deleteGroupAiBudget") },

  { permission: "api_key:create", may: everybody, asked: mine, tried: of("createApiKey"), about: "one's own" },
  { permission: "api_key:create", may: "OU", asked: ({ bot }) => ({ owner_id: bot }), tried: of("createApiKey for a service account"), about: "for a service account" },
  { permission: "api_key:create", may: "", asked: victims, tried: of("createApiKey for a service account", (s) => ({ bot: s.victim })), about: "for another user" },
  { permission: "api_key:read", may: everybody, asked: mine, tried: of("apiKeys", self), shows: is("ownKey"), about: "one's own" },
  { permission: "api_key:read", may: "OU", asked: victims, tried: of("apiKeys"), shows: is("key") },
  { permission: "api_key:update", may: everybody, asked: mine, tried: of("updateApiKey", (s) => ({ key: s.ownKey })), about: "one's own" },
  { permission: "api_key:update", may: "", asked: victims, tried: of("updateApiKey") },
  { permission: "api_key:delete", may: everybody, asked: mine, tried: of("revokeApiKey", (s) => ({ key: s.ownKey })), about: "one's own" },
  { permission: "api_key:delete", may: "OU", asked: victims, tried: of("revokeApiKey") },

  { permission: "license:create", may: "O", asked: everywhere, tried: row("refreshEntitlements") },
  { permission: "license:read", may: "O", asked: everywhere, tried: row("licenses"), shows: () => "[]" },

  { permission: "workspace_proxy:create", may: "O", asked: everywhere, tried: of("createWorkspaceProxy") },
  { permission: "workspace_proxy:read", may: everybody, asked: everywhere, tried: row("workspaceProxies"), shows: () => '"primary"' },
  { permission: "workspace_proxy:update", may: "O", asked: everywhere, tried: row("updateWorkspaceProxy") },

  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: row("updateAppearance"), about: "the appearance" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: of("setSecondFactorRule"), about: "the rules of second factors" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: of("releaseHeldWorkspaces"), about: "the workspaces of suspended users" },
  { permission: "deployment_config:update", may: "O", asked: everywhere, tried: of("updatePrebuildsSettings"), about: "the settings of prebuilds" },
  { permission: "connection_log:read", may: "OAoa", asked: there, tried: (s) => ["GET", `/api/v2/connectionlog?limit=1&q=workspace_owner:${s.victim}`], shows: is("organization") },
  { permission: "audit_log:read", may: "OAoa", asked: there, tried: (s) => `{ auditEvents(filter: { organization: "${s.organization}" }) { nodes { resourceId } } }`, shows: is("organization") },
  { permission: "event_endpoint:create", may: "Oo", asked: there, tried: of("createEventEndpoint") },
  { permission: "event_endpoint:read", may: "Oo", asked: there, tried: (s) => `{ eventEndpoints(organization: "${s.organization}") { nodes { name } } }`, shows: () => "kept" },

  { permission: "user_secret:create", may: everybody, asked: mine, tried: row("createUserSecret", self), about: "one's own" },
  { permission: "user_secret:create", may: "", asked: victims, tried: row("createUserSecret") },
  { permission: "user_secret:read", may: everybody, asked: mine, tried: row("userSecret", self), shows: () => "kept", about: "one's own" },
  { permission: "user_secret:read", may: "", asked: victims, tried: row("userSecret"), shows: () => "kept" },
  { permission: "user_secret:read", may: "", asked: victims, tried: row("userSecrets"), shows: () => "kept", about: "in the list" },
  { permission: "user_secret:update", may: everybody, asked: mine, tried: row("updateUserSecret", self), about: "one's own" },
  { permission: "user_secret:update", may: "", asked: victims, tried: row("updateUserSecret") },
  { permission: "user_secret:delete", may: everybody, asked: mine, tried: row("deleteUserSecret", self), about: "one's own" },
  { permission: "user_secret:delete", may: "", asked: victims, tried: row("deleteUserSecret") },

  { permission: "system:read", may: "O", asked: everywhere, tried: of("encryptionStatus"), shows: () => "activeKeyId" },

  { permission: "inbox_notification:read", may: everybody, asked: mine, tried: row("inboxNotifications"), shows: is("ownNote"), about: "one's own" },
  { permission: "inbox_notification:read", may: "", asked: victims, tried: row("inboxNotifications"), shows: is("note") },
  { permission: "inbox_notification:update", may: everybody, asked: mine, tried: row("markInboxNotification", (s) => ({ note: s.ownNote })), about: "one's own" },
  { permission: "inbox_notification:update", may: "", asked: victims, tried: row("markInboxNotification") },
  { permission: "notification_message:create", may: everybody, asked: mine, tried: row("sendCustomNotification"), about: "a custom one" },
];

/** The outcome of a request. Any failure other than a denied permission fails the test. */
interface Outcome {
  isAllowed: boolean;
  refusal?: "FORBIDDEN" | "NOT_FOUND";
  /** The scopes that the credential lacks. */
  missing?: string[];
}

async function outcomeOf(client: Client, request: Tried, shown = ""): Promise<Outcome> {
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
