// Every list shows its reader exactly the rows that the policy allows.
// Looks inside: the policy says for each row what its reader may see.
import { expect } from "chai";
import { tomorrow } from "../support/clock.js";
import type { UserActor } from "../../src/domain/kernel/actor.js";
import {
  mayOn,
  type OrganizationRole,
  type SiteRole,
  type Target,
} from "../../src/domain/authorization/authorization.js";
import { newToken } from "../support/token-rows.js";
import { newId } from "../support/ids.js";
import { userActor } from "../support/actors.js";
import { type Holder, holders, inTurns, populate } from "../support/holders.js";
import { insert } from "../support/stage.js";
import { insertTemplate, insertWorkspace } from "../support/workspaces.js";
import { type Client, GraphqlFailure, world } from "../support/world.js";

/** A caller who reads the lists, and whose own records are in them. */
interface Reader extends Holder {
  name: string;
  id: string;
  actor: UserActor;
  client: Client;
}

/** A stored row: the text that identifies it in a list, and the target that the policy decides on. */
interface Row {
  shown: string;
  target: Target;
}

describe("lists", () => {
  const the = world();
  let here: string;
  let elsewhere: string;
  let readers: Reader[];

  /** Rows with their id, and with their organization and owner where the statement selects them. */
  const sql = async <Found = { id: string; organizationId: string; ownerId: string }>(
    text: string,
    ...values: unknown[]
  ) => (await the().app.services.database.pool.query(text, values)).rows as Found[];

  before(async () => {
    const w = the();
    here = (await w.organization()).id;
    elsewhere = (await w.organization()).id;
    const people = Object.entries(holders).map(([name, holder]) => ({
      ...holder,
      name,
      id: newId(),
      token: newToken("session"),
    }));
    await populate(
      w,
      here,
      elsewhere,
      people.map((person) => ({ ...person, key: person.token.id, isServiceAccount: false })),
    );
    readers = people.map(({ token, ...person }) => ({
      ...person,
      client: w.as({ token: token.text }),
      actor: userActor({
        userId: person.id,
        siteRoles: person.site as SiteRole[],
        organizations: new Map(
          [[here, person.here] as const, [elsewhere, person.elsewhere] as const].flatMap(([id, roles]) =>
            roles ? [[id, roles as OrganizationRole[]] as const] : [],
          ),
        ),
      }),
    }));
    await insertRecords();
  });

  /** Groups with members, and records of each kind about users, in both organizations. */
  async function insertRecords() {
    const times = { created_at: "now", updated_at: "now" };
    const places = [
      { organization_id: here, members: readers.filter((each) => each.here) },
      { organization_id: elsewhere, members: readers.filter((each) => each.elsewhere) },
    ];
    const groups = places.flatMap(({ organization_id, members }) =>
      [0, 1].map((n) => ({
        group: { ...times, id: newId(), organization_id, name: `group-${n}` },
        members: members.filter((_, index) => index % 2 === n),
      })),
    );
    await insert(the(), {
      groups: groups.map(({ group }) => group),
      group_members: groups.flatMap(({ group: { id, organization_id }, members }) =>
        members.map((member) => ({ group_id: id, organization_id, user_id: member.id, created_at: "now" })),
      ),
      user_secrets: readers.map(({ id }) => ({
        ...times,
        id: newId(),
        user_id: id,
        name: "kept",
        value_bytes: 1,
        key_id: "test",
        value_nonce: "\\x",
        value_ciphertext: "\\x",
      })),
      connection_logs: places.flatMap(({ organization_id }) =>
        readers.map(({ id }) => ({
          id: newId(),
          organization_id,
          workspace_id: newId(),
          workspace_name: "box",
          workspace_owner_id: id,
          user_id: id,
          agent_name: "main",
          type: "workspace_app",
          slug_or_port: "chat",
          connect_time: "now",
          reporter: newId(),
        })),
      ),
      oauth2_clients: readers.map(({ id }, n) => ({
        ...times,
        id,
        kind: ["dynamic", "document", "admin"][n % 3],
        type: "public",
        name: `app-${n}`,
        icon: "",
        redirect_uris: [],
        pkce_required: true,
        grant_types: [],
        metadata: {},
        is_disabled: false,
      })),
      // Each has granted the own application access, and has revoked the access of another one.
      oauth2_grants: readers.flatMap(({ id }, n) =>
        [null, "now"].map((revoked_at) => ({
          id: newId(),
          user_id: id,
          client_id: revoked_at ? readers.at(n - 1)!.id : id,
          scopes: [],
          audiences: [],
          created_at: "now",
          last_used_at: "now",
          expires_at: tomorrow(),
          revoked_at,
        })),
      ),
      inbox_notifications: readers.map(({ id }) => ({
        id: newId(),
        user_id: id,
        seq: 1,
        template_id: newId(),
        targets: [],
        title: "Hello",
        content: "",
        icon: "",
        actions: [],
        created_at: "now",
      })),
      workspace_proxies: [{ ...times, id: newId(), name: "eu", token_hash: "\\x00" }],
    });
    await insertWorkspaces(
      places.map(({ organization_id }) => organization_id),
      groups.map(({ group: { id } }) => id),
    );
  }

  /** Workspaces of all readers in organizations, members or not, each with a task. Some are shared. */
  async function insertWorkspaces(organizations: string[], groups: string[]) {
    const { pool } = the().app.services.database;
    const times = { created_at: "now", updated_at: "now" };
    const workspaces: Array<{ id: string; organization: string; owner: string; version: string }> = [];
    for (const organization of organizations) {
      const version = await insertTemplate(pool, organization, the().owner.id);
      for (const { id: owner } of readers) workspaces.push({ id: newId(), organization, owner, version });
    }
    for (const { id, owner, organization, version } of workspaces)
      await insertWorkspace(pool, id, owner, `box-${organization.slice(-12)}`, version);
    const subjects = [
      ...groups.map((group_id) => ({ group_id, user_id: null })),
      ...readers.slice(0, 2).map(({ id }) => ({ group_id: null, user_id: id })),
    ];
    await insert(the(), {
      workspace_acl_entries: subjects.map((subject, n) => ({
        id: newId(),
        workspace_id: workspaces[4 * n]!.id,
        role: "use",
        created_at: "now",
        ...subject,
      })),
      tasks: workspaces.map(({ id, organization, owner, version }) => ({
        ...times,
        id: newId(),
        workspace_id: id,
        owner_id: owner,
        organization_id: organization,
        version_id: version,
        name: `box-${organization.slice(-12)}`,
        display_name: "",
        initial_prompt: "",
        status: "pending",
        input_seq: 0,
      })),
    });
  }

  /** The rows of a list, or none if reading it is denied. */
  async function shown(read: () => Promise<string[]>): Promise<string[]> {
    try {
      return await read();
    } catch (error) {
      if (error instanceof GraphqlFailure && ["FORBIDDEN", "NOT_FOUND"].includes(error.code)) return [];
      throw error;
    }
  }

  const ids = (rows: Array<{ id: string }>) => rows.map(({ id }) => id);

  /** Reads a list as every reader, and compares it with the stored rows that the policy allows to each. */
  async function compare(
    permission: Parameters<typeof mayOn>[1],
    rows: Row[] | ((reader: Reader) => Promise<Row[]>),
    read: (client: Client, reader: Reader) => Promise<string[]>,
  ) {
    expect(rows).to.not.deep.equal([]);
    const wrong: object[] = [];
    let seen = 0;
    await inTurns(readers, async (reader) => {
      const stored = typeof rows === "function" ? await rows(reader) : rows;
      const expected = stored.filter(({ target }) => mayOn(reader.actor, permission, target)).map((row) => row.shown);
      const found = await shown(() => read(reader.client, reader));
      const missing = expected.filter((row) => !found.includes(row));
      const extra = found.filter((row) => !expected.includes(row));
      if (missing.length + extra.length > 0) wrong.push({ reader: reader.name, missing, extra });
      seen += found.length;
    });
    expect(wrong).to.deep.equal([]);
    expect(seen).to.be.above(0);
  }

  const accounts = () =>
    sql<
      Target & { id: string; email: string }
    >(`select u.id, u.id as "ownerId", u.email, u.site_roles as "siteRoles", u.is_service_account as "isServiceAccount",
        array(select json_build_object('organizationId', organization_id, 'roles', roles)
          from organization_members where user_id = u.id) as memberships
      from users u where deleted_at is null and not is_system`);

  it("show exactly the users that the policy allows", async () => {
    const rows = (await accounts()).map((target) => ({ shown: target.id, target }));
    await compare("user:read", rows, async (client) =>
      ids((await client.graphql("{ users(first: 1000) { nodes { id } } }")).users.nodes),
    );
  });

  it("show exactly the organizations that the policy allows", async () => {
    const rows = (await sql("select id from organizations")).map(({ id }) => ({
      shown: id,
      target: { organizationId: id },
    }));
    await compare("organization:read", rows, async (client) =>
      ids((await client.graphql("{ organizations { id } }")).organizations),
    );
  });

  it("show members of an organization, and full users, where the policy allows each", async () => {
    for (const organization of [here, elsewhere]) {
      const members = (await accounts()).filter(({ memberships }) =>
        memberships!.some((each) => each.organizationId === organization),
      );
      const read = async (client: Client) =>
        (
          await client.graphql(
            `{ organizationMembers(organization: "${organization}", first: 1000) { nodes { id user { id email } } } }`,
          )
        ).organizationMembers.nodes as Array<{ id: string; user: object | null }>;
      const rows = members.map((each) => ({ shown: each.id, target: { ...each, organizationId: organization } }));
      await compare("organization_member:read", rows, async (client) => ids(await read(client)));
      const isReader = ({ actor }: Reader) =>
        mayOn(actor, "organization_member:read", { organizationId: organization });
      const whole = members.map((target) => ({ shown: target.id, target }));
      await compare("user:read", whole, async (client, reader) =>
        isReader(reader)
          ? ids((await read(client)).filter(({ user }) => user))
          : whole.filter(({ target }) => mayOn(reader.actor, "user:read", target)).map((row) => row.shown),
      );
    }
  });

  const groupRows = () =>
    sql<{
      id: string;
      organizationId: string;
      members: string[];
    }>(`select g.id, g.organization_id as "organizationId", case when g.id = g.organization_id
        then array(select user_id from organization_members where organization_id = g.id)
        else array(select user_id from group_members where group_id = g.id) end as members from groups g`);

  const groupsOf = {
    GraphQL: async (client: Client) =>
      (
        await client.graphql(
          "{ groups(first: 100) { nodes { id members(first: 100) { nodes { user { id } account { id } } } } } }",
        )
      ).groups.nodes.map(
        (group: { id: string; members: { nodes: Array<{ user: { id: string }; account: { id: string } }> } }) => {
          for (const { user, account } of group.members.nodes) expect(account.id).to.equal(user.id);
          return { id: group.id, members: group.members.nodes.map(({ user }) => user.id) };
        },
      ) as Array<{ id: string; members: string[] }>,
    REST: async (client: Client) =>
      (await client.get("/api/v2/groups")).body.map((group: { id: string; members: Array<{ id: string }> }) => ({
        id: group.id,
        members: ids(group.members),
      })) as Array<{ id: string; members: string[] }>,
  };

  for (const [surface, read] of Object.entries(groupsOf)) {
    it(`show exactly the groups that the policy allows, over ${surface}`, async () => {
      const groups = await groupRows();
      await compareEach(
        groups.map(({ id, organizationId, members }) => ({
          shown: id,
          allowed: ({ actor }) =>
            mayOn(actor, "group:read", { organizationId, isMember: members.includes(actor.userId) }),
        })),
        async (client) => ids(await read(client)),
      );
    });

    it(`show exactly the members of groups that the policy allows, over ${surface}, all of whom may be read as full users`, async () => {
      const users = new Map((await accounts()).map((each) => [each.id, each]));
      const rows = (await groupRows()).flatMap(({ id, organizationId, members }) =>
        members.map((member) => ({
          shown: `${id} ${member}`,
          allowed: ({ actor }: Reader) => {
            const isMember = members.includes(actor.userId);
            const sees =
              mayOn(actor, "group:read", { organizationId, isMember }) &&
              mayOn(actor, "group_member:read", { organizationId, ownerId: member });
            if (sees) expect(mayOn(actor, "user:read", users.get(member)!)).to.equal(true);
            return sees;
          },
        })),
      );
      await compareEach(rows, async (client) =>
        (await read(client)).flatMap((group) => group.members.map((member) => `${group.id} ${member}`)),
      );
    });
  }

  it("show the same as edges of users and organizations", async () => {
    const members = "totalCount nodes { id username joinedAt roles { name } user { email } }";
    const groups = "totalCount nodes { id name totalMemberCount }";
    const seen = { organizations: 0, groups: 0, members: 0 };
    await inTurns(readers, async ({ name, client }) => {
      const { users, organizations } = await client.graphql(`{
        users(first: 50) { nodes { id organizationIds organizations { id } groups(first: 20) { ${groups} } } }
        organizations { id memberCount members(first: 50) { ${members} } } }`);
      const queries = [
        ...users.nodes.map(({ id }) => `groups(first: 20, filter: { hasMember: "${id}" }) { ${groups} }`),
        ...ids(organizations).map((id) => `organizationMembers(organization: "${id}", first: 50) { ${members} }`),
      ].map((query, n) => `q${n}: ${query}`);
      const roots = Object.values(await client.graphql(`{ ${queries.join(" ")} }`));
      const edges = [...users.nodes.map((user) => user.groups), ...organizations.map((each) => each.members)];
      expect(edges, name).to.deep.equal(roots);
      for (const user of users.nodes) {
        const readable = user.organizationIds.filter((id) => ids(organizations).includes(id));
        expect(ids(user.organizations), name).to.deep.equal(readable);
        seen.organizations += readable.length;
        seen.groups += user.groups.totalCount;
      }
      for (const organization of organizations) {
        expect(organization.memberCount, name).to.equal(organization.members.totalCount);
        seen.members += organization.memberCount;
      }
    });
    expect(Object.values(seen)).to.not.include(0);
  });

  /** The same, for lists that several permissions decide on. */
  async function compareEach(
    rows: Array<{ shown: string; allowed: (reader: Reader) => boolean }>,
    read: (client: Client) => Promise<string[]>,
  ) {
    const wrong: object[] = [];
    await inTurns(readers, async (reader) => {
      const expected = rows.filter(({ allowed }) => allowed(reader)).map((row) => row.shown);
      const found = await shown(() => read(reader.client));
      if (expected.toSorted().join() !== found.toSorted().join()) wrong.push({ reader: reader.name, expected, found });
    });
    expect(wrong).to.deep.equal([]);
  }

  it("show exactly the OAuth2 applications that the policy allows", async () => {
    const apps = await sql<{ id: string; kind: string }>("select id, kind from oauth2_clients");
    const rows = apps.map(({ id, kind }) => ({
      shown: id,
      allowed: ({ actor }: Reader) =>
        mayOn(actor, "oauth2_app:read", { isAdminMade: kind === "admin", isGranted: actor.userId === id }),
    }));
    await compareEach(rows, async (client) =>
      ids((await client.graphql("{ oauth2Apps { nodes { id } } }")).oauth2Apps.nodes),
    );
    await compareEach(rows, async (client) => ids((await client.get("/api/v2/oauth2-provider/apps")).body));
  });

  it("show exactly the OAuth2 grants that the policy allows", async () => {
    const rows = await sql(`select id, user_id as "ownerId" from oauth2_grants where revoked_at is null`);
    await compare(
      "oauth2_grant:read",
      rows.map(({ id, ownerId }) => ({ shown: id, target: { ownerId } })),
      async (client) => ids((await client.graphql("{ oauth2Grants { nodes { id } } }")).oauth2Grants.nodes),
    );
  });

  it("show exactly the audit events that the policy allows", async () => {
    const events = await sql(`select id, organization_id as "organizationId" from audit_events`);
    const rows = events.map(({ id, organizationId }) => ({
      shown: id,
      target: { organizationId: organizationId ?? undefined },
    }));
    await compare("audit_log:read", rows, async (client) =>
      ids((await client.graphql("{ auditEvents(first: 1000) { nodes { id actor { id } } } }")).auditEvents.nodes),
    );
  });

  it("show exactly the connections that the policy allows", async () => {
    const logs = await sql(`select id, organization_id as "organizationId" from connection_logs`);
    const rows = logs.map(({ id, organizationId }) => ({ shown: id, target: { organizationId } }));
    await compare("connection_log:read", rows, async (client) =>
      ids((await client.graphql("{ connectionLogs(first: 1000) { nodes { id } } }")).connectionLogs.nodes),
    );
    await compare("connection_log:read", rows, async (client) => {
      const { status, body } = await client.get("/api/v2/connectionlog?limit=0");
      return status === 403 ? [] : ids(body.connection_logs);
    });
  });

  it("show full users in connections only where the policy allows", async () => {
    const users = (await accounts()).filter(({ id }) => readers.some((reader) => reader.id === id));
    const visible = (reader: Reader) => users.filter((target) => mayOn(reader.actor, "user:read", target));
    const wrong: object[] = [];
    await inTurns(readers, async (reader) => {
      const { status, body } = await reader.client.get("/api/v2/connectionlog?limit=0");
      if (status === 403) return;
      const document = `{ connectionLogs(first: 1000) { nodes {
        workspaceOwner { id username account { email } } webInfo { user { id username account { email } } } } } }`;
      const { connectionLogs } = await reader.client.graphql(document);
      const known = new Map(visible(reader).map(({ id, email }) => [id, email]));
      type Referred = { id: string; username: string; account: { email: string } | null };
      const referred = connectionLogs.nodes.flatMap(
        ({ workspaceOwner, webInfo }: { workspaceOwner: Referred; webInfo: { user: Referred } }) => [
          workspaceOwner,
          webInfo.user,
        ],
      );
      for (const { id, username, account } of referred) {
        expect(username).to.not.equal("");
        if (account?.email !== known.get(id)) wrong.push({ reader: reader.name, id, account });
      }
      for (const { web_info } of body.connection_logs) {
        const { user } = web_info;
        const expected = known.get(user.id);
        if (user.email !== (expected ?? "withheld@user.invalid")) wrong.push({ reader: reader.name, user });
        if (!expected) {
          expect(user).to.include({ created_at: "0001-01-01T00:00:00.000Z" });
          expect(user).to.deep.include({ roles: [], organization_ids: [] });
          expect(user).to.not.have.any.keys("status", "last_seen_at", "login_type", "updated_at");
        }
      }
    });
    expect(wrong).to.deep.equal([]);
  });

  it("show only public users in connections to credentials without the scope user:read", async () => {
    const owner = readers.find(({ name }) => name === "owner")!;
    const made = await owner.client.graphql(
      `mutation { createApiKey(input: { name: "narrow", scopes: ["connection_log:read"] }) { token } }`,
    );
    const narrow = the().as(made.createApiKey);
    const { status, body } = await narrow.get("/api/v2/connectionlog?limit=0");
    expect(status).to.equal(200);
    const visitors = body.connection_logs.map(({ web_info }: { web_info: { user: object } }) => web_info.user);
    for (const { id, email } of visitors)
      expect(email).to.equal(id === owner.id ? `${id}@example.com` : "withheld@user.invalid");
    const email = readers.find(({ id }) => id !== owner.id)!.id + "@example.com";
    expect((await narrow.get(`/api/v2/connectionlog?limit=0&q=user_email:${email}`)).body.count).to.equal(0);
  });

  it("find connections by email only of users that the policy allows", async () => {
    const users = (await accounts()).filter(({ id }) => readers.some((reader) => reader.id === id));
    const readersOfLogs = readers.filter(({ actor }) =>
      [here, elsewhere].some((organizationId) => mayOn(actor, "connection_log:read", { organizationId })),
    );
    await inTurns(readersOfLogs, async (reader) => {
      for (const target of users)
        for (const key of ["workspace_owner_email", "user_email"]) {
          const { status, body } = await reader.client.get(`/api/v2/connectionlog?limit=0&q=${key}:${target.email}`);
          expect(status).to.equal(200);
          expect(body.count > 0, `${reader.name} ${key}`).to.equal(mayOn(reader.actor, "user:read", target));
        }
    });
  });

  /** Workspaces or tasks, with the role that the reader has in the access list of the workspace. */
  const sharedRows = (table: "workspaces" | "tasks") => async (reader: Reader) => {
    const rows = await sql<Target & { id: string }>(
      `select x.id, x.owner_id as "ownerId", x.organization_id as "organizationId", (
          select e.role from workspace_acl_entries e where e.workspace_id = ${table === "tasks" ? "x.workspace_id" : "x.id"}
            and (e.user_id = $1 or exists (
              select from group_members m where m.group_id = e.group_id and m.user_id = $1))) as acl
        from ${table} x`,
      reader.id,
    );
    return rows.map(({ id, ...target }) => ({ shown: id, target }));
  };

  it("show exactly the workspaces that the policy allows, also by organization", async () => {
    const rows = sharedRows("workspaces");
    await compare("workspace:read", rows, async (client) =>
      ids((await client.graphql("{ workspaces(first: 1000) { nodes { id } } }")).workspaces.nodes),
    );
    await compare("workspace:read", rows, async (client) => {
      const read = (organization: string) =>
        client.graphql(`{ workspaces(first: 1000, filter: { organization: "${organization}" }) { nodes { id } } }`);
      const found = await Promise.all([here, elsewhere].map(read));
      return ids(found.flatMap(({ workspaces }) => workspaces.nodes));
    });
  });

  it("show exactly the tasks that the policy allows, over GraphQL and over REST", async () => {
    const rows = sharedRows("tasks");
    await compare("task:read", rows, async (client) =>
      ids((await client.graphql("{ tasks(first: 1000) { nodes { id } } }")).tasks.nodes),
    );
    await compare("task:read", rows, async (client) => ids((await client.get("/api/v2/tasks")).body.tasks));
  });

  it("show exactly the workspace proxies that the policy allows", async () => {
    const rows = [...(await sql("select id from workspace_proxies")), ...(await sql("select id from deployment"))].map(
      ({ id }) => ({ shown: id, target: {} }),
    );
    await compare("workspace_proxy:read", rows, async (client) =>
      ids((await client.graphql("{ workspaceProxies { id } }")).workspaceProxies),
    );
  });

  it("deny licenses to readers without permission", async () => {
    await inTurns(readers, async ({ client, actor }) => {
      const { status } = await client.get("/api/v2/licenses");
      expect(status).to.equal(mayOn(actor, "license:read", {}) ? 200 : 403);
    });
  });

  it("show exactly the API keys of users that the policy allows", async () => {
    const users = new Map((await accounts()).map((each) => [each.id, each]));
    const keys = await sql(`select id, user_id as "ownerId" from api_keys where user_id = any($1)`, ids(readers));
    const rows = keys.map(({ id, ownerId }) => ({ shown: id, target: users.get(ownerId)! }));
    await compare("api_key:read", rows, async (client) =>
      (
        await Promise.all(
          readers.map(({ id }) =>
            shown(async () => ids((await client.graphql(`{ apiKeys(user: "${id}") { id user { id } } }`)).apiKeys)),
          ),
        )
      ).flat(),
    );
  });

  it("show exactly the secrets of users that the policy allows", async () => {
    const secrets = await sql(`select id, user_id as "ownerId" from user_secrets`);
    const rows = secrets.map(({ id, ownerId }) => ({ shown: id, target: { ownerId } }));
    await compare("user_secret:read", rows, async (client) =>
      (
        await Promise.all(
          readers.map(async ({ id }) => {
            const { status, body } = await client.get(`/api/v2/users/${id}/secrets`);
            return status === 200 ? ids(body) : [];
          }),
        )
      ).flat(),
    );
  });

  it("show exactly the notifications that the policy allows", async () => {
    const notes = await sql(`select id, user_id as "ownerId" from inbox_notifications`);
    const rows = notes.map(({ id, ownerId }) => ({ shown: id, target: { ownerId } }));
    await compare("inbox_notification:read", rows, async (client) =>
      ids((await client.graphql("{ inboxNotifications(first: 100) { nodes { id } } }")).inboxNotifications.nodes),
    );
  });
});
