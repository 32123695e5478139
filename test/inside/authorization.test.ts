// Looks inside: the policy is a table of pure functions, with more combinations than requests could try.
import { expect } from "chai";
import { type Actor, anonymous, systemActor, type UserActor } from "../../src/domain/kernel/actor.js";
import {
  assignableRoles,
  authorize,
  authorizeMachine,
  covers,
  isPermission,
  may,
  mayOn,
  narrowed,
  organizationRoles,
  ownAccount,
  type Permission,
  selectPermitted,
  requireAnyPermitted,
  requireScope,
  roleNames,
  scopeCatalog,
  seesOn,
  siteRoles,
  type Target,
} from "../../src/domain/authorization/authorization.js";
import { DomainError } from "../../src/domain/kernel/errors.js";
import { userActor } from "../support/actors.js";

// The table again in another form: what each role may do to objects of others, C R U D or by name.
const matrix = `
resource                | actions                              | owner             | template-admin | user-admin        | auditor         | member | organization-admin | organization-template-admin | organization-user-admin | organization-auditor | organization-member
user                    | CRUD read_personal update_personal   | *                 | R              | *                 | R               |        | R                  | R                           | R                       | R                    |
invitation              | CRUD                                 | *                 |                | *                 |                 |        |                    |                             |                         |                      |
assign_role             | R assign unassign                    | *                 |                | R                 | R               |        |                    |                             |                         |                      |
assign_org_role         | R assign unassign                    | *                 | R              | *                 | R               |        | *                  | R                           | *                       | R                    | R
organization            | CRUD                                 | *                 | R              | R                 | R               |        | R U                | R                           | R                       | R                    | R
organization_member     | CRUD                                 | *                 | R              | *                 | R               |        | *                  | R                           | *                       | R                    | R
group                   | CRUD                                 | *                 | R              | *                 | R               |        | *                  | R                           | *                       | R                    |
group_member            | R                                    | R                 | R              | R                 | R               |        | R                  | R                           | R                       | R                    |
group_ai_budget         | CRUD                                 | *                 |                | *                 | R               |        | *                  |                             | *                       | R                    |
template                | CRUD use view_insights               | *                 | *              |                   | R view_insights |        | *                  | *                           |                         | R view_insights      |
file                    | C R                                  | *                 | *              |                   |                 |        | *                  | *                           |                         |                      |
workspace               | CRUD start stop ssh application_connect share | CRUD start stop | R         |                   |                 |        | CRUD start stop    | R                           |                         |                      |
prebuilt_workspace      | CRUD read_credentials                | *                 | *              |                   |                 |        | *                  | *                           |                         |                      |
workspace_agent         | R read_credentials                   | R                 | R              |                   |                 |        | R                  | R                           |                         |                      |
workspace_transfer      | C R U                                | C                 |                |                   |                 |        | C                  |                             |                         |                      |
task                    | CRUD                                 | CRUD              | R              |                   |                 |        | CRUD               | R                           |                         |                      |
user_secret             | CRUD                                 |                   |                |                   |                 |        |                    |                             |                         |                      |
api_key                 | CRUD                                 | R D               |                | R D               |                 |        |                    |                             |                         |                      |
external_auth_link      | R U D                                |                   |                |                   |                 |        |                    |                             |                         |                      |
license                 | C R D                                | *                 |                |                   |                 |        |                    |                             |                         |                      |
deployment_config       | R U                                  | *                 |                |                   | R               |        |                    |                             |                         |                      |
system                  | R U                                  | *                 |                |                   |                 |        |                    |                             |                         |                      |
connection_log          | R                                    | R                 |                |                   | R               |        | R                  |                             |                         | R                    |
audit_log               | R                                    | R                 |                |                   | R               |        | R                  |                             |                         | R                    |
event_endpoint          | CRUD                                 | *                 |                |                   |                 |        | *                  |                             |                         |                      |
workspace_proxy         | CRUD                                 | *                 |                |                   |                 | R      |                    |                             |                         |                      |
provisioner_key         | C R D                                | *                 | *              |                   | R               |        | *                  | *                           |                         | R                    |
provisioner_daemon      | C R                                  | *                 | *              | R                 | R               |        | *                  | *                           | R                       | R                    | R
provisioner_job         | R U                                  | *                 | *              |                   | R               |        | *                  | *                           |                         | R                    |
oauth2_app              | CRUD                                 | *                 |                |                   |                 |        |                    |                             |                         |                      |
oauth2_app_secret       | C R D                                | *                 |                |                   |                 |        |                    |                             |                         |                      |
oauth2_grant            | R D                                  | R D               |                | R D               |                 |        |                    |                             |                         |                      |
scim_key                | C R D                                | *                 |                |                   |                 |        |                    |                             |                         |                      |
sign_in_provider        | CRUD                                 | *                 |                |                   |                 |        |                    |                             |                         |                      |
notification_template   | R U                                  | *                 |                |                   |                 | R      |                    |                             |                         |                      |
notification_preference | R U                                  | *                 |                |                   |                 |        |                    |                             |                         |                      |
notification_message    | C R U                                | *                 |                |                   | R               |        |                    |                             |                         |                      |
inbox_notification      | R U                                  |                   |                |                   |                 |        |                    |                             |                         |                      |
`;

const letters: Record<string, string[]> = {
  C: ["create"],
  R: ["read"],
  U: ["update"],
  D: ["delete"],
  CRUD: ["create", "read", "update", "delete"],
};
const spellOut = (cell: string, actions: string[] = []) =>
  cell
    .split(" ")
    .filter(Boolean)
    .flatMap((word) => (word === "*" ? actions : (letters[word] ?? [word])));

const [header = [], ...lines] = matrix
  .trim()
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()));
const actionsOf = new Map(lines.map(([resource = "", actions = ""]) => [resource, spellOut(actions)]));
const cells = new Map(
  lines.flatMap(([resource = "", , ...rest]) =>
    rest.map((cell, column) => [`${resource} ${header[column + 2]}`, spellOut(cell, actionsOf.get(resource))] as const),
  ),
);
const permissions = [...actionsOf].flatMap(([resource, actions]) =>
  actions.map((action) => ({ resource, action, permission: `${resource}:${action}` as Permission })),
);

const me = "me";
const other = "other";
const home = "home";
const away = "away";
const user = (role?: string, more: Partial<UserActor> = {}): UserActor =>
  userActor({
    userId: me,
    siteRoles: siteRoles.filter((name) => name === role),
    organizations: new Map([[home, organizationRoles.filter((name) => name === role)]]),
    ...more,
  });
const scoped = (...scopes: string[]) => user("owner", { scopes });
const roles = ["member", ...siteRoles, ...organizationRoles];

/** Actions that the table grants to a user with one role, on an object in a place. */
function table(role: string, resource: string, place: "home" | "away" | "site"): Set<string> {
  const columns = ["member"];
  if (!role.startsWith("organization-")) columns.push(role);
  if (place === "home") columns.push("organization-member", role);
  const given = new Set(columns.flatMap((column) => cells.get(`${resource} ${column}`) ?? []));
  // Organization admins and user admins see all users; their colleagues see only those of the organization.
  if (resource === "user" && /^organization-(user-)?admin$/.test(role)) given.add("read");
  return given;
}

const membersOf = (...organizations: string[]) =>
  organizations.map((organizationId) => ({ organizationId, roles: [] }));
const places: Record<"home" | "away" | "site", (resource: string) => Target> = {
  home: (resource) => (resource === "user" ? { memberships: membersOf(home, away) } : { organizationId: home }),
  away: (resource) => (resource === "user" ? { memberships: membersOf(away) } : { organizationId: away }),
  site: () => ({}),
};
const placeNames = ["home", "away", "site"] as const;

/** A property of an object, and how it changes what the table grants. */
interface Situation {
  what: string;
  facts: Target;
  actor?: Partial<UserActor>;
  gains?: (resource: string, place: string, role: string) => string | undefined;
  loses?: (resource: string, role: string) => string | undefined;
}

const own: Record<string, string> = {
  user: "R read_personal update_personal",
  group_member: "R",
  workspace: "*",
  workspace_agent: "*",
  workspace_transfer: "R U",
  task: "*",
  user_secret: "*",
  api_key: "*",
  external_auth_link: "*",
  provisioner_job: "R",
  oauth2_grant: "*",
  notification_preference: "*",
  notification_message: "C",
  inbox_notification: "*",
};
/** Objects in another organization do not count as own; a group member belongs to an organization. */
const ownGains = (resource: string, place: string) =>
  (place === "away" && resource !== "user") || (place === "site" && resource === "group_member") ? "" : own[resource];
const shared: Record<string, string> = {
  template: "R use",
  workspace: "R ssh application_connect",
  workspace_agent: "R",
  task: "R",
};
const sharedForAdministration: Record<string, string> = {
  template: "*",
  workspace: "R ssh application_connect U start stop",
  workspace_agent: "R",
  task: "R U",
};

/** Actions that only owners may take on the account of a holder of a site role. */
function ownersAlone(resource: string, role: string): string | undefined {
  if (resource === "organization_member" && role.endsWith("admin")) return "C U D";
  if (resource === "workspace_transfer" && role === "organization-admin") return "C";
  const losses: Record<string, string> = { user: "U D update_personal", api_key: "D", invitation: "C U D" };
  return role === "user-admin" ? losses[resource] : "";
}

const situations: Situation[] = [
  { what: "an ordinary object of another user", facts: {} },
  { what: "an object of the caller", facts: { ownerId: me }, gains: ownGains },
  {
    what: "an object of a user with a site role",
    facts: { siteRoles: ["auditor"] },
    loses: ownersAlone,
  },
  {
    what: "an object of a service account",
    facts: { isServiceAccount: true },
    gains: (resource, _, role) => (resource === "api_key" && /^(owner|user-admin)$/.test(role) ? "C" : ""),
  },
  {
    what: "an object of a service account with a site role",
    facts: { isServiceAccount: true, siteRoles: ["auditor"] },
    gains: (resource, _, role) => (resource === "api_key" && role === "owner" ? "C" : ""),
    loses: ownersAlone,
  },
  ...(["organization-admin", "organization-template-admin", "organization-auditor"] as const).map((assignedRole) => ({
    what: `assigning ${assignedRole}`,
    facts: { assignedRole },
    loses: (resource: string, role: string) =>
      resource === "assign_org_role" && role.endsWith("user-admin") ? "assign unassign" : "",
  })),
  {
    what: "a group of the caller",
    facts: { isMember: true },
    gains: (resource, place) => (resource === "group" && place === "home" ? "R" : ""),
  },
  { what: "an object shared for use", facts: { acl: "use" }, gains: (resource) => shared[resource] },
  {
    what: "an object shared for administration",
    facts: { acl: "admin" },
    gains: (resource) => sharedForAdministration[resource],
  },
  {
    what: "a daemon of a user",
    facts: { daemonScope: "user" },
    gains: (resource, place) => (resource === "provisioner_daemon" && place === "home" ? "C" : ""),
  },
  {
    what: "an application created by an admin",
    facts: { isAdminMade: true },
    gains: (r) => (r === "oauth2_app" ? "R" : ""),
  },
  {
    what: "an application with a grant of the caller",
    facts: { isGranted: true },
    gains: (r) => (r === "oauth2_app" ? "R" : ""),
  },
  {
    what: "an object where administrators may enter workspaces",
    facts: {},
    actor: { entersWorkspaces: true },
    gains: (resource, place, role) => {
      if (role !== "owner" && !(role === "organization-admin" && place === "home")) return "";
      return { workspace: "ssh application_connect", workspace_agent: "read_credentials" }[resource];
    },
  },
];

const concrete: Target = {
  ownerId: other,
  siteRoles: [],
  memberships: [],
  isServiceAccount: false,
  assignedRole: "organization-user-admin",
  daemonScope: "organization",
};

const refusal = (act: () => void): DomainError => {
  try {
    act();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error("Nothing was rejected.");
};

describe("authorization", () => {
  it("contains every action of the table and no other", () => {
    expect(permissions).to.have.length.above(100);
    for (const { permission } of permissions) expect(isPermission(permission), permission).to.equal(true);
    const known = new Set<string>(permissions.map(({ permission }) => permission));
    for (const resource of actionsOf.keys())
      for (const action of ["create", "read", "update", "delete", "start", "use", "assign", "share", "serve", "*"]) {
        const name = `${resource}:${action}`;
        expect(isPermission(name), name).to.equal(known.has(name));
      }
    expect(isPermission("toString")).to.equal(false);
  });

  for (const { what, facts, actor, gains, loses } of situations)
    it(`follows the table for ${what}`, () => {
      const wrong: string[] = [];
      let granted = 0;
      for (const role of roles)
        for (const place of placeNames)
          for (const { resource, action, permission } of permissions) {
            const actions = actionsOf.get(resource);
            const expected =
              (table(role, resource, place).has(action) &&
                !spellOut(loses?.(resource, role) ?? "", actions).includes(action)) ||
              spellOut(gains?.(resource, place, role) ?? "", actions).includes(action);
            const target: Target = { ...concrete, ...facts, ...places[place](resource) };
            if (mayOn(user(role, actor), permission, target) !== expected) wrong.push(`${role} ${permission} ${place}`);
            if (expected) granted++;
          }
      expect(wrong).to.deep.equal([]);
      expect(granted).to.be.above(400);
    });

  it("rejects organization roles on the deployment as a whole", () => {
    for (const role of organizationRoles)
      for (const { permission, resource, action } of permissions)
        expect(mayOn(user(role), permission, {}), `${role} ${permission}`).to.equal(
          cells.get(`${resource} member`)?.includes(action),
        );
  });

  it("grants nothing if a value is absent that a rule reads", () => {
    const complete: Record<string, Target> = {
      user: { ownerId: other, siteRoles: [], memberships: [] },
      api_key: { ownerId: other, siteRoles: [], memberships: [], isServiceAccount: true },
      organization_member: { organizationId: home, ownerId: other, siteRoles: [], memberships: [] },
      assign_org_role: { organizationId: home, assignedRole: "organization-user-admin" },
    };
    const rows = [
      ["user-admin", "user:update"],
      ["user-admin", "user:delete"],
      ["user-admin", "user:update_personal"],
      ["user-admin", "api_key:create"],
      ["user-admin", "api_key:delete"],
      ["owner", "api_key:create"],
      ["user-admin", "organization_member:delete"],
      ["organization-admin", "organization_member:create"],
      ["organization-user-admin", "organization_member:update"],
      ["organization-user-admin", "assign_org_role:assign"],
    ] as const;
    for (const [role, permission] of rows) {
      const facts = complete[permission.split(":")[0]!]!;
      expect(mayOn(user(role), permission, facts), `${role} ${permission}`).to.equal(true);
      const indecisive = new Set([
        "ownerId",
        "organizationId",
        permission === "api_key:create" ? "" : "isServiceAccount",
      ]);
      const decisive = Object.keys(facts).filter((name) => !indecisive.has(name));
      for (const fact of decisive)
        expect(
          mayOn(user(role), permission, { ...facts, [fact]: undefined }),
          `${role} ${permission} without ${fact}`,
        ).to.equal(false);
    }
  });

  it("does not compile if a check omits what a rule reads", () => {
    const actor = user("user-admin");
    // @ts-expect-error -- the roles of the user
    expect(may(actor, "user:update", { ownerId: other })).to.equal(false);
    // @ts-expect-error -- the memberships of the user
    expect(may(actor, "user:delete", { ownerId: other, siteRoles: [] })).to.equal(false);
    // @ts-expect-error -- the user
    expect(may(actor, "user:update")).to.equal(false);
    // @ts-expect-error -- the account of the member
    expect(may(actor, "organization_member:delete", { organizationId: home })).to.equal(false);
    // @ts-expect-error -- whether it is a service account
    expect(may(actor, "api_key:create", { ownerId: other, siteRoles: [], memberships: [] })).to.equal(false);
    // @ts-expect-error -- the role
    expect(may(actor, "assign_org_role:assign", { organizationId: home })).to.equal(false);
    // @ts-expect-error -- the access list
    expect(may(actor, "workspace:ssh", { organizationId: home, ownerId: other })).to.equal(false);
    // @ts-expect-error -- whether the caller is in it
    expect(may(actor, "group:read", { organizationId: home })).to.equal(true);
    // @ts-expect-error -- the organization
    expect(may(user("organization-admin"), "group:update", {})).to.equal(false);
  });

  it("treats nulls in table rows as absent", () => {
    const row = {
      organizationId: home,
      ownerId: null,
      acl: null,
      isMember: null,
      isGranted: null,
    } as unknown as Target;
    for (const permission of [
      "template:read",
      "workspace:ssh",
      "group:read",
      "oauth2_app:read",
      "user_secret:read",
    ] as const)
      expect(mayOn(user(), permission, row), permission).to.equal(false);
  });

  const agent: Actor = { kind: "agent", id: "agent", tokenHash: "hash", workspaceId: "workspace" };
  const proxy: Actor = { kind: "proxy", id: "proxy", tokenHash: "hash" };

  it("grants the permissions of users to no other caller", () => {
    const target: Target = { ownerId: "agent", acl: "admin", isMember: true, isAdminMade: true, siteRoles: [] };
    for (const actor of [anonymous, systemActor, agent, proxy])
      for (const { permission } of permissions) {
        const label = `${actor.kind} ${permission}`;
        expect(mayOn(actor, permission, { ...target, memberships: [] }), label).to.equal(false);
        expect(seesOn(actor, permission, { ...target, memberships: [] }), label).to.equal(false);
        const { organizations, ...rest } = selectPermitted(actor, permission);
        expect([organizations, ...Object.values(rest).filter(Boolean)], label).to.deep.equal([[]]);
        expect(() => requireScope(actor, permission), label).to.throw(DomainError);
      }
  });

  it("grants machines what their kind may do, and users none of it", () => {
    const able = {
      "connection:record": [agent, proxy],
      "resource_alert:report": [agent],
      "workspace_proxy:report": [proxy],
      "application:resolve": [proxy],
    };
    for (const [action, machines] of Object.entries(able) as Array<[keyof typeof able, Actor[]]>)
      for (const actor of [anonymous, systemActor, user("owner"), agent, proxy]) {
        const attempt = () => authorizeMachine(actor, action);
        if (machines.includes(actor)) expect(attempt()).to.equal(actor);
        else expect(attempt, `${actor.kind} ${action}`).to.throw(DomainError).with.property("code", "FORBIDDEN");
      }
  });

  describe("selectPermitted", () => {
    it("agrees with may, row by row", () => {
      let checked = 0;
      for (const situation of situations)
        for (const role of roles)
          for (const { permission, resource, action } of permissions.filter((each) => each.action === "read")) {
            const actor = user(role, situation.actor);
            const { everywhere, organizations, ...ties } = selectPermitted(actor, permission);
            for (const place of placeNames) {
              const target: Target = { ...concrete, ...situation.facts, ...places[place](resource) };
              const inOrganizations = (
                resource === "user" && target.memberships
                  ? target.memberships.map(({ organizationId }) => organizationId)
                  : [target.organizationId ?? ""]
              ).some((id) => organizations.includes(id));
              const tied =
                (ties.own &&
                  target.ownerId === me &&
                  place !== "away" &&
                  (resource !== "group_member" || place === "home")) ||
                (ties.own && resource === "user" && target.ownerId === me) ||
                (ties.inGroup && target.isMember === true && place === "home") ||
                (ties.sharedForUse && target.acl !== undefined) ||
                (ties.adminMade && target.isAdminMade === true) ||
                (ties.granted && target.isGranted === true);
              const label = `${role} ${resource}:${action} ${place} ${situation.what}`;
              expect(everywhere || inOrganizations || tied, label).to.equal(mayOn(actor, permission, target));
              checked++;
            }
          }
      expect(checked).to.be.above(5000);
    });

    it("lists the organizations by role", () => {
      const actor = user(undefined, {
        organizations: new Map([
          ["a", ["organization-user-admin"]],
          ["b", []],
          ["c", ["organization-template-admin", "organization-auditor"]],
        ]),
      });
      expect(selectPermitted(actor, "group:read")).to.include({ everywhere: false, own: false, inGroup: true });
      expect(selectPermitted(actor, "group:read").organizations).to.deep.equal(["a", "c"]);
      expect(selectPermitted(actor, "organization:read").organizations).to.deep.equal(["a", "b", "c"]);
      expect(selectPermitted(actor, "user:read").everywhere).to.equal(true);
      expect(selectPermitted(user("owner"), "group:read").everywhere).to.equal(true);
    });

    it("is empty for callers who can see no row, and rejected if the list requires a row", () => {
      for (const list of [
        "license",
        "connection_log",
        "audit_log",
        "provisioner_key",
        "scim_key",
        "oauth2_app_secret",
      ] as const) {
        expect(refusal(() => requireAnyPermitted(user(), `${list}:read`)).code).to.equal("FORBIDDEN");
        expect(requireAnyPermitted(user("owner"), `${list}:read`).everywhere).to.equal(true);
      }
      expect(requireAnyPermitted(user("organization-auditor"), "audit_log:read").organizations).to.deep.equal([home]);
    });
  });

  describe("scopes", () => {
    it("are listed in byte order, one for each action of the resources that have any", () => {
      const expected =
        `api_key audit_log connection_log deployment_config event_endpoint external_auth_link file group inbox_notification
        license notification_preference notification_template oauth2_app oauth2_grant organization organization_member
        provisioner_daemon provisioner_job provisioner_key scim_key task template user user_secret workspace workspace_proxy`
          .split(/\s+/)
          .flatMap((resource) => ["*", ...(actionsOf.get(resource) ?? [])].map((action) => `${resource}:${action}`));
      const inOrder = ["all", "application_connect", ...expected].sort((a, b) =>
        Buffer.compare(Buffer.from(a), Buffer.from(b)),
      );
      expect(scopeCatalog).to.deep.equal(inOrder);
    });

    it("narrow what a role grants, and never widen it", () => {
      expect(mayOn(scoped("group:read"), "group:read", {})).to.equal(true);
      expect(mayOn(scoped("group:*"), "group:update", {})).to.equal(true);
      expect(mayOn(scoped("group:read"), "group:update", {})).to.equal(false);
      expect(mayOn(scoped("group:read"), "template:read", {})).to.equal(false);
      expect(mayOn(scoped(), "group:read", {})).to.equal(false);
      expect(may(user(undefined, { scopes: ["group:*"] }), "group:update", { organizationId: home })).to.equal(false);
      expect(selectPermitted(scoped("template:read"), "group:read").everywhere).to.equal(false);
    });

    it("cover sub-resources along with their parent", () => {
      const covered: Array<[string, Permission]> = [
        ["group:read", "group_member:read"],
        ["group:update", "group_ai_budget:update"],
        ["workspace:start", "workspace:start"],
        ["workspace:delete", "prebuilt_workspace:delete"],
        ["workspace:read", "workspace_agent:read"],
        ["workspace:*", "workspace_agent:read_credentials"],
        ["workspace:create", "workspace_transfer:create"],
        ["oauth2_app:create", "oauth2_app_secret:create"],
        ["user:read", "assign_role:read"],
        ["user:*", "assign_role:assign"],
        ["organization_member:*", "assign_org_role:unassign"],
        ["notification_template:read", "notification_message:read"],
        ["notification_template:*", "notification_message:create"],
        ["application_connect", "workspace:application_connect"],
        ["all", "system:update"],
      ];
      for (const [scope, permission] of covered) expect(covers([scope], permission), permission).to.equal(true);
      expect(covers(["user:update"], "assign_role:assign")).to.equal(false);
      expect(covers(["application_connect"], "workspace:ssh")).to.equal(false);
      const everythingNamed = scopeCatalog.filter((scope) => scope !== "all");
      for (const { permission, resource } of permissions)
        expect(covers(everythingNamed, permission), permission).to.equal(
          resource !== "system" && resource !== "sign_in_provider",
        );
    });

    it("always allow reading the caller's own user", () => {
      const narrow = scoped("template:read");
      expect(may(narrow, "user:read", ownAccount(narrow))).to.equal(true);
      expect(mayOn(narrow, "user:read", { ownerId: other })).to.equal(false);
      expect(may(narrow, "user:read_personal", { ownerId: me })).to.equal(false);
    });

    it("name the missing ones when they are too narrow", () => {
      const missing = refusal(() => requireScope(scoped("group:read"), "group_ai_budget:update"));
      expect(missing.code).to.equal("FORBIDDEN");
      expect(missing.details.requiredScopes).to.deep.equal(["group:update"]);
      const authorized = refusal(() => authorize(scoped("group:read"), "group:delete", { organizationId: home }));
      expect(authorized.details.requiredScopes).to.deep.equal(["group:delete"]);
      expect(refusal(() => requireScope(scoped("user:*"), "system:read")).details.requiredScopes).to.deep.equal([
        "all",
      ]);
      const unheld = refusal(() => authorize(user(), "group:delete", { organizationId: home }));
      expect(unheld.code).to.equal("FORBIDDEN");
      expect(unheld.details.requiredScopes).to.equal(undefined);
    });

    it("are passed on only as far as they reach", () => {
      expect(narrowed(["all"], ["api_key:create"])).to.deep.equal(["api_key:create"]);
      expect(narrowed(["group:*", "user:read"], ["all"])).to.deep.equal(["group:*", "user:read"]);
      expect(narrowed(["group:*"], ["group:read", "group:update", "user:read"])).to.deep.equal([
        "group:read",
        "group:update",
      ]);
      expect(narrowed(["group:read", "template:use"], ["group:*"])).to.deep.equal(["group:read"]);
      expect(narrowed(["all", "group:read"], ["group:read"])).to.deep.equal(["group:read"]);
      expect(narrowed(["application_connect"], ["workspace:application_connect"])).to.deep.equal([
        "application_connect",
      ]);
      expect(narrowed(["workspace:*"], ["application_connect"])).to.deep.equal(["application_connect"]);
      const wrong = scopeCatalog.flatMap((wanted) =>
        scopeCatalog.flatMap((held) => {
          const left = narrowed([wanted], [held]);
          return permissions
            .filter(({ permission: one }) => covers(left, one) !== (covers([wanted], one) && covers([held], one)))
            .map(({ permission }) => `${wanted} by ${held}: ${permission}`);
        }),
      );
      expect(wrong).to.deep.equal([]);
    });
  });

  describe("SCIM keys", () => {
    const key: Actor = {
      kind: "scim_key",
      id: "1",
      tokenHash: "",
      source: "idp",
      organizationIds: [home, other],
      lastUsedAt: null,
    };
    const everyAccount = ["user:create", "user:read"];
    const inOrganizations = new Set([
      "organization:read",
      ...["create", "read", "delete"].map((action) => `organization_member:${action}`),
      ...["create", "read", "update", "delete"].map((action) => `group:${action}`),
      "group_member:read",
    ]);
    /** The permissions of the key on an object. */
    const held = (target: Target) =>
      permissions.map(({ permission }) => permission).filter((permission) => mayOn(key, permission, target));

    it("hold permissions on objects of their organizations, and on no others", () => {
      for (const organizationId of [home, other])
        expect(held({ organizationId })).to.have.members([...everyAccount, ...inOrganizations]);
      for (const target of [{}, { organizationId: away }]) expect(held(target)).to.have.members(everyAccount);
      for (const { permission } of permissions) {
        const found = selectPermitted(key, permission);
        expect(found.everywhere, permission).to.equal(everyAccount.includes(permission));
        expect(found.organizations).to.deep.equal(inOrganizations.has(permission) ? [home, other] : []);
      }
    });

    it("change accounts that belong to no other organization, their status alone if these have a site role", () => {
      const account = { ownerId: me, siteRoles: [], memberships: membersOf(home, other) };
      expect(held(account)).to.have.members([...everyAccount, "user:update", "user:update_personal"]);
      expect(held({ ...account, siteRoles: ["auditor"] })).to.have.members([...everyAccount, "user:update"]);
      expect(held({ ...account, siteRoles: undefined })).to.have.members([...everyAccount, "user:update"]);
      for (const memberships of [membersOf(home, away), membersOf(away), undefined])
        expect(held({ ...account, memberships })).to.have.members(everyAccount);
    });
  });

  describe("assigning roles", () => {
    it("is for owners, organization admins, and, for the user admin role of organizations only, user admins", () => {
      expect(assignableRoles(user("owner"))).to.deep.equal([...siteRoles]);
      expect(assignableRoles(user("user-admin"))).to.deep.equal([]);
      expect(assignableRoles(user("owner"), away)).to.deep.equal([...organizationRoles]);
      expect(assignableRoles(user("organization-admin"), home)).to.deep.equal([...organizationRoles]);
      expect(assignableRoles(user("organization-admin"), away)).to.deep.equal([]);
      expect(assignableRoles(user("user-admin"), away)).to.deep.equal(["organization-user-admin"]);
      expect(assignableRoles(user("organization-user-admin"), home)).to.deep.equal(["organization-user-admin"]);
      for (const role of ["member", "auditor", "template-admin", "organization-auditor", "organization-template-admin"])
        expect(assignableRoles(user(role), home), role).to.deep.equal([]);
    });

    it("never grants more than the caller holds", () => {
      for (const giver of roles)
        for (const given of [...assignableRoles(user(giver)), ...assignableRoles(user(giver), home)])
          for (const { resource, permission } of permissions) {
            const target: Target = { ...concrete, ...places.home(resource) };
            if (mayOn(user(given), permission, target))
              expect(mayOn(user(giver), permission, target), `${giver} gives ${given}: ${permission}`).to.equal(true);
          }
    });

    it("has a name for each role", () => {
      for (const role of roles) expect(roleNames[role as keyof typeof roleNames]).to.match(/^[A-Z][a-z]+( [a-z]+)*$/);
    });
  });
});
