// Tries every root field and every row with every kind of credential, on the caller's own objects, on those of others,
// and on those of another organization. The expectation is the permission table, written out here. The first part tries
// each operation as each role once, on an object and a surface that take turns, or as a quarter of the roles if they all may
// the same, and the second part all the rest.
// Looks inside: credentials of every kind end, and roles of every kind are given, hundreds of times.
import { expect } from "chai";
import { isObjectType } from "graphql";
import { areas, getSchema } from "./catalog.js";
import { insertKey } from "./keys.js";
import { setColumns, setTimes } from "./tables.js";
import type { TokenKind } from "./token-rows.js";
import { newId } from "./ids.js";
import { makeProxy } from "./proxies.js";
import { type Operation, operations, type Place, type Where } from "./operations.js";
import { enter, type Part, type Stage, startWorkspaces } from "./stage.js";
import { type Headers, surfaces, verbOf } from "./surfaces.js";
import { type Client, type World, world } from "./world.js";

const all = ["organization-admin", "organization-template-admin", "organization-user-admin", "organization-auditor"];

/** Users by a letter: site roles, roles in the organization of the stage, the same roles elsewhere, and none. */
const parts: Record<string, Part> = {
  O: { siteRoles: ["owner"] },
  T: { siteRoles: ["template-admin"] },
  U: { siteRoles: ["user-admin"] },
  A: { siteRoles: ["auditor"] },
  o: { roles: [all[0]!] },
  t: { roles: [all[1]!] },
  u: { roles: [all[2]!] },
  a: { roles: [all[3]!] },
  m: { roles: [] },
  x: { rolesElsewhere: all },
  n: {},
};
/**
 * The permission table for the existing operations. Upper-case letters hold everywhere, lower-case ones in their
 * organization only, with `!` also beyond it; `own` holds on the caller's own objects, `any` everywhere.
 */
const table: Record<string, string> = {
  "signed in": "any",
  "user:create": "O U",
  "invitation:create": "O U",
  "invitation:read": "O U",
  "user:read": "O T U A o! t u! a own",
  "user:update": "O U",
  "user:delete": "O U",
  "user:read_personal": "O U own",
  "user:update_personal": "O U own",
  "assign_role:assign": "O",
  "assign_role:read": "O U A",
  "assign_org_role:assign": "O U o u",
  "assign_org_role:read": "O T U A o t u a m",
  "organization:create": "O",
  "organization:read": "O T U A o t u a m",
  "organization:update": "O o",
  "organization:delete": "O",
  "organization_member:create": "O U o u",
  "organization_member:read": "O T U A o t u a m",
  "organization_member:delete": "O U o u",
  "group:create": "O U o u",
  "group:read": "O T U A o t u a own",
  "group:update": "O U o u",
  "group:delete": "O U o u",
  "group_ai_budget:read": "O U A o u a",
  "group_ai_budget:update": "O U o u",
  "group_ai_budget:delete": "O U o u",
  "template:create": "O T o t",
  "template:read": "O T A o t a",
  "template:update": "O T o t",
  "template:delete": "O T o t",
  "workspace:read": "O T o t own",
  "workspace:start": "O o own",
  "workspace:stop": "O o own",
  "workspace:update": "O o own",
  "workspace:delete": "O o own",
  "workspace:delete as an orphan": "O o",
  "workspace:share": "own",
  "api_key:create": "own",
  "api_key:create for a service account": "O U",
  "api_key:read": "O U own",
  "api_key:update": "own",
  "api_key:delete": "O U own",
  "license:read": "O",
  "license:create": "O",
  "license:delete": "O",
  "deployment_config:read": "O A",
  "deployment_config:update": "O",
  "oauth2_app:create": "O",
  "oauth2_app:update": "O",
  "oauth2_app:delete": "O",
  "oauth2_app_secret:create": "O",
  "oauth2_app_secret:read": "O",
  "oauth2_app_secret:delete": "O",
  "oauth2_grant:read": "O U own",
  "oauth2_grant:delete": "O U own",
  "system:read": "O",
  "connection_log:read": "O A o! a!",
  "audit_log:read": "O A o! a!",
  "event_endpoint:create": "O o",
  "event_endpoint:read": "O o!",
  "workspace_proxy:create": "O",
  "template:view_insights": "O T A o t a",
  "workspace_proxy:update": "O",
  "workspace_proxy:delete": "O",
  "workspace_agent:read": "O T o t own",
  "workspace_agent:read_credentials": "own",
  "user_secret:*": "own",
  "inbox_notification:*": "own",
  "notification_template:update": "O",
  "notification_preference:read": "O own",
  "notification_preference:update": "O own",
  "notification_message:create for a test": "O",
  "notification_message:read": "O A",
  "notification_message:update": "O",
  "scim_key:read": "O",
  "scim_key:create": "O",
  "scim_key:delete": "O",
  "sign_in_provider:read": "O",
  "sign_in_provider:create": "O",
  "sign_in_provider:update": "O",
  "sign_in_provider:delete": "O",
  "provisioner_key:create": "O T o t",
  "provisioner_key:read": "O T A o t a",
  "provisioner_key:delete": "O T o t",
  "provisioner_daemon:read": "O T U A o t u a m",
};

function holds(permission: string, letter: string, where: Where, own: string): boolean {
  const held = table[permission]!.split(" ");
  if (held.includes("any") || (where === "own" && held.includes("own") && own.includes(letter))) return true;
  if (letter === "x") return held.some((each) => each.endsWith("!"));
  return (
    held.includes(`${letter}!`) || (held.includes(letter) && (where !== "away" || letter === letter.toUpperCase()))
  );
}

function placeOf(where: Where, stage: Stage, away: Stage): Place {
  if (where === "own")
    return {
      ...stage,
      user: stage.actor,
      group: stage.team,
      key: stage.ownKey,
      note: stage.ownNote,
      grant: stage.ownGrant,
      workspace: stage.ownWorkspace,
      agent: stage.ownAgent,
      busyWorkspace: stage.ownBusyWorkspace,
    };
  return where === "other" ? { ...stage, user: stage.victim } : { ...away, user: away.victim };
}

/** The outcome that the table expects for a user with a full session; undefined if either error is right. */
function expected({ permission, seen, own, outcome }: Operation, letter: string, where: Where): string | undefined {
  const isSeen = seen?.every((each) => holds(each, letter, where, own));
  if (isSeen !== false && holds(permission, letter, where, own)) return outcome;
  return seen ? (isSeen ? "FORBIDDEN" : "NOT_FOUND") : permission.endsWith(":*") ? undefined : "FORBIDDEN";
}

export type MatrixPart = "first" | "rest";

/**
 * Whether an attempt belongs to a part: of the `count` attempts of a role, the first part makes that whose turn it is, if
 * it tries the role.
 */
const isIn = (part: MatrixPart, attempt: number, count: number, turn: number, isTried = true): boolean =>
  (isTried && attempt === turn % count) === (part === "first");

const isChange = (tested: Operation): boolean => /^(POST|PUT|PATCH|DELETE)|mutation/.test(verbOf(tested));

export function testAccess(part: MatrixPart): void {
  describe(`the access matrix, ${part === "first" ? "each role once" : "what is left of it"}`, () => testMatrix(part));
  if (part === "rest") describe("dominance", testDominance);
}

function testMatrix(part: MatrixPart): void {
  const the = world();
  const standing = new Map<string, Promise<Awaited<ReturnType<typeof enter>>>>();
  let agent: string;
  let proxy: string;
  /** Credentials that have ended: whatever is requested with them, nothing is done. */
  let expired: Client;
  let suspended: Client;

  before(async () => {
    const ended = await enter(the(), parts.O!);
    expired = await credential(the(), ended.stage.actor, "session", ["all"], true);
    const gone = await enter(the(), parts.O!);
    await setColumns(the(), "users", { id: gone.stage.actor }, { status: "suspended" });
    suspended = gone.client;
    agent = (await the().workspace(the().owner)).agent.token;
    proxy = (await makeProxy(the(), "matrix")).token;
  });

  /** A new stage for operations that change something, else a shared one. */
  function stageOf(key: string, changes: boolean, caller: Part = parts[key] ?? {}): ReturnType<typeof enter> {
    const kept = changes ? undefined : standing.get(key);
    const made = kept ?? enter(the(), caller);
    if (!changes) standing.set(key, made);
    // One that could not be made fails its own test only.
    made.catch(() => standing.delete(key));
    return made;
  }

  async function credential(w: World, userId: string, kind: TokenKind, scopes: string[], isExpired = false) {
    const { id, text } = await insertKey(w, { id: userId }, kind, scopes);
    if (isExpired) await setTimes(w, "api_keys", { id }, { expires_at: "-1 h" });
    return w.as({ token: text });
  }

  it("requires the scopes of the arguments before any object is looked up", async () => {
    const client = await credential(the(), the().owner.id, "token", ["workspace:delete"]);
    const orphan = `mutation { deleteWorkspace(input: { workspace: "${newId()}", orphan: true }) { __typename } }`;
    const { errors } = await client.failure(orphan);
    expect(errors[0]!.extensions).to.deep.include({ code: "FORBIDDEN", requiredScopes: ["template:update"] });
  });

  it("covers every root field and every row", () => {
    const schema = getSchema();
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].filter(isObjectType);
    const tried = new Set([...operations.keys()].map((each) => each.split(" ")[0]));
    expect([...tried]).to.have.members(roots.flatMap((type) => Object.keys(type.getFields())));

    const place = {
      organization: "o",
      user: "u",
      group: "g",
      team: "g",
      note: "n",
      app: "a",
      appSecret: "s",
      template: "t",
    } as Place;
    const requests = [...operations.values()].flatMap(({ rest }) => (rest ? [rest(place)] : []));
    const untried = areas
      .flatMap(({ rows }) => rows)
      .filter(([method, path]) => {
        const pattern = new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}(\\?|$)`);
        return !requests.some(([by, to]) => (by === "HEAD" ? "GET" : by) === method && pattern.test(to));
      });
    expect(untried).to.deep.equal([]);
  });

  for (const [turn, [title, tested]] of [...operations].entries()) {
    const { on, kinds, outcome } = tested;
    const isOpen = kinds.includes("open");
    const takesUsers = kinds.includes("session");
    // Roles do not matter then: the first part tries a quarter of them.
    const isSameForAll = !takesUsers || (table[tested.permission] === "any" && !tested.seen);

    it(`${title}: allows and rejects users by their roles`, async () => {
      const attempts = Object.keys(parts).flatMap((letter, role) => {
        const possible = on.flatMap((where) => surfaces(tested).map(({ send }) => ({ letter, where, send })));
        const isTried = !isSameForAll || (turn + role) % 4 === 0;
        return possible.filter((_, index) => isIn(part, index, possible.length, turn + role, isTried));
      });
      const wrong = await Promise.all(
        attempts.map(async ({ letter, where, send }) => {
          const wanted = takesUsers ? expected(tested, letter, where) : isOpen ? outcome : tested.refusal;
          const changes = wanted === "done" && isChange(tested);
          const { client, stage } = await stageOf(letter, changes);
          const { stage: away } = where === "away" ? await stageOf("away", changes) : { stage };
          if (tested.workspaces) await Promise.all([stage, away].map((each) => startWorkspaces(the(), each)));
          const { code } = await send(client, placeOf(where, stage, away));
          const isRight = wanted ? code === wanted : ["FORBIDDEN", "NOT_FOUND"].includes(code);
          return isRight ? [] : [`${letter} ${where}: ${code} instead of ${wanted ?? "an error"}`];
        }),
      );
      expect(wrong.flat()).to.deep.equal([]);
    });

    it(`${title}: accepts only its kinds of credentials and scopes`, async () => {
      const w = the();
      const where = on[0]!;
      const wrong: string[] = [];
      const tried = surfaces(tested).filter((_, index, { length }) => part === "rest" || index === turn % length);
      // Changes need new objects for each credential that may make them.
      const takesNew = verbOf(tested).startsWith("mutation") || title.startsWith("delete");
      for (const { send, scopes } of tried) {
        // Workspaces belong to members of their organization.
        const [{ stage }, ...fresh] = await Promise.all([
          tested.workspaces
            ? stageOf("O in the organization", isChange(tested), { ...parts.O, roles: [] })
            : stageOf("O", isChange(tested)),
          ...(takesUsers && takesNew && title !== "logout"
            ? ["token", "oauth", "token"].filter((kind) => kinds.includes(kind)).map(() => enter(w, parts.O!))
            : []),
        ]);
        if (tested.workspaces) await startWorkspaces(w, stage);
        const place = placeOf(where, stage, stage);
        const check = async (who: string, client: Client, wanted: string, missing?: string, headers?: Headers) => {
          const found = await send(client, place, headers);
          if (found.code !== wanted || found.scopes !== missing)
            wrong.push(`${who}: ${found.code} ${found.scopes} instead of ${wanted} ${missing}`);
        };
        const machine = (kind: string) => (isOpen || kinds.includes(kind) ? outcome : "UNAUTHENTICATED");
        await check("none", w.nobody, isOpen ? outcome : "UNAUTHENTICATED");
        await check("an agent", w.as({ token: agent }), machine("agent"));
        await check("a proxy", w.nobody, machine("proxy"), undefined, { "Service-Proxy-Token": proxy });
        // Rows that need no credential ignore any that is sent. The first part tries one of the two that have ended.
        if (!isOpen && (part === "rest" || turn % 2 === 0)) await check("expired", expired, "UNAUTHENTICATED");
        if (!isOpen && (part === "rest" || turn % 2 === 1)) await check("suspended", suspended, "UNAUTHENTICATED");
        if (!takesUsers) continue;

        const by = (kind: TokenKind) => (kinds.includes(kind) ? outcome : "FORBIDDEN");
        const narrowed = scopes.length > 0;
        const missing = narrowed ? [...(tested.checkedFirst ?? scopes)].sort().join(" ") : undefined;
        const isByKind = (kind: TokenKind) => !kinds.includes(kind) && !tested.byArguments;
        await check(
          "a token of another scope",
          await credential(w, stage.actor, "token", ["file:read"]),
          isByKind("token") || narrowed ? "FORBIDDEN" : outcome,
          isByKind("token") ? undefined : missing,
        );
        // An application key has one scope, and may run operations that need no other.
        const lacking = scopes.filter((scope) => scope !== "workspace:application_connect");
        const takesAny = kinds.includes("token") && kinds.includes("oauth");
        const isApplicationRefused = lacking.length > 0 || !(takesAny || kinds.includes("application"));
        await check(
          "an application key",
          await credential(w, stage.actor, "application", ["application_connect"]),
          isApplicationRefused ? "FORBIDDEN" : outcome,
          isByKind("oauth") || lacking.length === 0
            ? undefined
            : [...(tested.checkedFirst ?? lacking)].sort().join(" "),
        );
        if (title === "logout") continue;
        if (takesNew) {
          let actor = stage.actor;
          for (const [who, kind, given] of [
            ["token", "token", ["all"]],
            ["oauth", "oauth", ["all"]],
            ["just the scopes", "token", scopes],
          ] as const) {
            if (kinds.includes(kind)) {
              const next = fresh.shift()!.stage;
              Object.assign(place, placeOf(where, next, next));
              actor = next.actor;
            }
            await check(who, await credential(w, actor, kind, [...given]), by(kind));
          }
        } else {
          for (const kind of ["token", "oauth"] as const)
            await check(kind, await credential(w, stage.actor, kind, ["all"]), by(kind));
          await check("just the scopes", await credential(w, stage.actor, "token", scopes), by("token"));
        }
      }
      expect(wrong).to.deep.equal([]);
    });
  }
}

/**
 * The rule of dominance: a caller who changes an account must be allowed to grant every role that the account holds,
 * and every role that it would lose or gain, in the deployment and in organizations alike.
 */
function testDominance(): void {
  const the = world();

  interface Cell {
    /** The letter of the caller. */
    by: string;
    /** Roles of the changed account in the organization. */
    over: string[];
    operation: string;
    allowed?: true;
    /** The changed account; by default a member of the organization. */
    whom?: "bot" | "actor";
  }
  const administrator = ["organization-admin"];
  const userChanges = [
    "updateUser",
    "updateUser with an email address",
    "suspendUser",
    "activateUser",
    "deleteUser",
    "resetUserPassword",
    "unlinkUserIdentity",
    "linkUserIdentity",
    "resetSecondFactors",
    "setQuietHours",
    "removeOrganizationMember",
  ];
  const cells: Cell[] = [
    ...userChanges.map((each): Cell => ({ by: "U", over: administrator, operation: each })),
    ...userChanges.map((each): Cell => ({
      by: "U",
      over: ["organization-user-admin"],
      operation: each,
      allowed: true,
    })),
    ...userChanges.map((each): Cell => ({ by: "O", over: administrator, operation: each, allowed: true })),
    { by: "U", over: administrator, operation: "createApiKey for a service account", whom: "bot" },
    { by: "O", over: administrator, operation: "createApiKey for a service account", whom: "bot", allowed: true },
    { by: "U", over: [], operation: "updateUser", whom: "actor" },
    { by: "u", over: administrator, operation: "removeOrganizationMember" },
    { by: "u", over: ["organization-auditor"], operation: "removeOrganizationMember" },
    { by: "u", over: ["organization-user-admin"], operation: "removeOrganizationMember", allowed: true },
    { by: "o", over: administrator, operation: "removeOrganizationMember", allowed: true },
    { by: "u", over: administrator, operation: "setOrganizationMemberRoles" },
    { by: "o", over: administrator, operation: "setOrganizationMemberRoles", allowed: true },
  ];

  for (const { by, over, operation: title, allowed, whom = "victim" } of cells) {
    const held = over.join(", ") || "their own roles";
    it(`${by} ${allowed ? "may" : "may not"} run ${title} on an account with ${held}`, async () => {
      for (const { send } of surfaces(operations.get(title)!)) {
        const { client, stage } = await enter(the(), parts[by]!);
        const { organization, [whom]: user } = stage;
        const member = { organization_id: organization, user_id: user };
        await setColumns(the(), "organization_members", member, { roles: over });
        const { code } = await send(client, { ...stage, user });
        expect(code).to.equal(allowed ? operations.get(title)!.outcome : "FORBIDDEN");
      }
    });
  }
}
