// Lists in each order that they offer.
// Looks inside: the order of a list is that of its rows in Postgres.
import { expect } from "chai";
import { firstMonthId, newId } from "../../support/ids.js";
import { onEveryConnection, readsOf } from "../../support/reads.js";
import { type Client, GraphqlFailure, type Person, world } from "../../support/world.js";

interface Row {
  id: string;
}

interface Page {
  edges: Array<{ cursor: string; node: Row & { user?: Row } }>;
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null };
  totalCount: number;
}

/** A list in one of its orders. */
interface Ordered {
  what: string;
  field: string;
  by: string;
  /** Other arguments of the list. */
  arguments?: string;
  /** Whether the reader reads the list, who may read one organization; otherwise the owner does. */
  isLimited?: boolean;
  /** The whole list in SQL, in ascending order. */
  rows: string;
}

const size = 4;

describe("the order of a list", () => {
  const the = world();
  const made = { organization: newId(), group: newId() };
  /** May read one organization, and its users. */
  let reader: Person;
  let plain: Person;

  before(async () => {
    const w = the();
    [reader, plain] = (await w.users("reader", "plain")) as [Person, Person];
    await w.grant(reader, "organization-template-admin", "organization-auditor");
    await w.app.services.database.pool.query(`
      insert into organizations (id, created_at, updated_at, name)
      values ('${made.organization}', now(), now(), 'another');
      insert into groups (id, created_at, updated_at, organization_id, name)
      values ('${made.organization}', now(), now(), '${made.organization}', 'Everyone');
      insert into users (id, created_at, updated_at, email, username, name, login_type, status, last_seen_at)
      select gen_random_uuid(), timestamptz '2026-01-04T00:00:00Z' - make_interval(days => n % 4), now(), n || '@example.com',
        case n % 2 when 0 then 'Even-' else 'odd-' end || n, case n when 19 then 'Stranger' else 'Member' end, 'password',
        case n % 3 when 0 then 'suspended' else 'active' end, timestamptz '2026-01-03T00:00:00Z' - make_interval(hours => 5 * n)
      from generate_series(1, 19) n;
      insert into organization_members (organization_id, user_id, created_at)
      select '${w.defaultOrganization}', id, timestamptz '2026-02-01T00:00:00Z' + make_interval(days => length(username) % 2)
      from users where name = 'Member';
      insert into groups (id, created_at, updated_at, organization_id, name, source)
      select gen_random_uuid(), now(), now(), o.id, 'group-' || n, case n % 2 when 0 then 'oidc' else 'user' end
      from organizations o, generate_series(1, 7) n;
      insert into groups (id, created_at, updated_at, organization_id, name)
      values ('${made.group}', now(), now(), '${w.defaultOrganization}', 'some');
      insert into group_members (group_id, organization_id, user_id)
      select '${made.group}', organization_id, user_id from organization_members
      where organization_id = '${w.defaultOrganization}';
      insert into audit_events (id, time, actor_kind, action, resource_type, organization_id, diff, request_id)
      select ${firstMonthId}, timestamptz '2026-03-01T00:00:00Z' + make_interval(days => n % 3), 'system', 'update',
        case n % 2 when 0 then 'license' else 'group' end,
        case when n % 3 > 0 then uuid '${w.defaultOrganization}' end, '{}', 'made'
      from generate_series(1, 17) n;
      insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
        slug_or_port, connect_time, reporter)
      select ${firstMonthId}, o.id, gen_random_uuid(), 'box', '${reader.id}', 'main',
        case n % 2 when 0 then 'workspace_app' else 'port_forwarding' end, 'chat',
        timestamptz '2026-03-01T00:00:00Z' + make_interval(days => n % 3), gen_random_uuid()
      from organizations o, generate_series(1, 9) n`);
  });

  const sql = async (text: string): Promise<string[]> =>
    (await the().app.services.database.pool.query<Row>(text)).rows.map(({ id }) => id);

  const users = (where = "true", by = `lower(username) collate "C"`) =>
    `select id from users u where not is_system and ${where} order by ${by}, id`;
  const isMember = `exists(
    select from organization_members m join organizations o on o.id = m.organization_id where is_default and user_id = u.id)`;
  const members = (by: string, where = "true") => `
    select u.id from users u join organization_members m on m.user_id = u.id join organizations o on o.id = m.organization_id
    where is_default and ${where} order by ${by}, u.id`;
  const groups = (where = "true") => `
    select g.id from groups g join organizations o on o.id = g.organization_id where ${where} order by o.name, g.name, g.id`;
  const byUsername = `lower(u.username) collate "C"`;
  const inDefault = "organization_id = (select id from organizations where is_default)";

  const lists: Ordered[] = [
    { what: "users", field: "users", by: "USERNAME", rows: users() },
    { what: "users", field: "users", by: "CREATED_AT", rows: users("true", "created_at") },
    ...(["USERNAME", "CREATED_AT"] as const).flatMap((by) => {
      const column = by === "USERNAME" ? byUsername : "created_at";
      const shape = { field: "users", by };
      return [
        { ...shape, what: "users of the reader's organization", isLimited: true, rows: users(isMember, column) },
        {
          ...shape,
          what: "users with a status",
          arguments: "filter: { status: SUSPENDED }",
          rows: users("status = 'suspended'", column),
        },
        {
          ...shape,
          what: "users with a status in the reader's organization",
          arguments: "filter: { status: SUSPENDED }",
          isLimited: true,
          rows: users(`status = 'suspended' and ${isMember}`, column),
        },
        {
          ...shape,
          what: "users by two values",
          arguments: "filter: { loginType: PASSWORD, serviceAccount: false }",
          rows: users("login_type = 'password' and not is_service_account", column),
        },
        {
          ...shape,
          what: "users created in a range",
          arguments: `filter: { createdAfter: "2026-01-02T00:00:00Z", createdBefore: "2026-01-03T00:00:00Z" }`,
          rows: users("created_at between '2026-01-02T00:00:00Z' and '2026-01-03T00:00:00Z'", column),
        },
        {
          ...shape,
          what: "users seen in a range",
          arguments: `filter: { lastSeenAfter: "2026-01-01T05:00:00+01:00", lastSeenBefore: "2026-01-02T09:00:00Z" }`,
          rows: users("last_seen_at between '2026-01-01T04:00:00Z' and '2026-01-02T09:00:00Z'", column),
        },
        {
          ...shape,
          what: "users seen before a time",
          arguments: `filter: { lastSeenBefore: "2026-01-01T23:30:00-00:30" }`,
          rows: users("last_seen_at <= '2026-01-02T00:00:00Z'", column),
        },
        {
          ...shape,
          what: "users found by a search",
          arguments: `filter: { search: "odd" }`,
          rows: users("u.username like 'odd%'", column),
        },
        {
          ...shape,
          what: "users found by a search in the reader's organization",
          arguments: `filter: { search: "odd", createdAfter: "2026-01-02T00:00:00Z" }`,
          isLimited: true,
          rows: users(`u.username like 'odd%' and created_at >= '2026-01-02T00:00:00Z' and ${isMember}`, column),
        },
      ];
    }),
    ...[
      { by: "USERNAME", column: byUsername },
      { by: "JOINED_AT", column: "m.created_at" },
    ].flatMap(({ by, column }) => {
      const shape = { field: "organizationMembers", by, isLimited: true };
      return [
        { ...shape, what: "members", arguments: `organization: "default"`, rows: members(column) },
        {
          ...shape,
          what: "members found by a search",
          arguments: `organization: "default", filter: { search: "odd" }`,
          rows: members(column, "u.username like 'odd%'"),
        },
      ];
    }),
    { what: "groups", field: "groups", by: "NAME", rows: groups() },
    {
      what: "groups of a source",
      field: "groups",
      by: "NAME",
      arguments: "filter: { source: OIDC }",
      rows: groups("source = 'oidc'"),
    },
    {
      what: "groups found by a search",
      field: "groups",
      by: "NAME",
      arguments: `filter: { search: "GROUP-" }`,
      rows: groups("g.name like 'group-%'"),
    },
    {
      what: "groups of an organization found by a search",
      field: "organizationGroups",
      by: "NAME",
      arguments: `organization: "default", filter: { search: "o" }`,
      isLimited: true,
      rows: groups("is_default and g.name like '%o%'"),
    },
    {
      what: "groups of an organization",
      field: "organizationGroups",
      by: "NAME",
      arguments: `organization: "default"`,
      isLimited: true,
      rows: groups("is_default"),
    },
    { what: "members of a group", field: "members", by: "USERNAME", rows: members(byUsername) },
    {
      what: "members of a group found by a search",
      field: "members",
      by: "USERNAME",
      arguments: `filter: { search: "odd" }`,
      rows: members(byUsername, "u.username like 'odd%'"),
    },
    { what: "audit events", field: "auditEvents", by: "TIME", rows: "select id from audit_events order by time, id" },
    {
      what: "audit events of a type",
      field: "auditEvents",
      by: "TIME",
      arguments: `filter: { resourceType: "license" }`,
      rows: "select id from audit_events where resource_type = 'license' order by time, id",
    },
    {
      what: "audit events of the reader's organization",
      field: "auditEvents",
      by: "TIME",
      isLimited: true,
      rows: `select id from audit_events where ${inDefault} order by time, id`,
    },
    {
      what: "connections",
      field: "connectionLogs",
      by: "CONNECT_TIME",
      rows: "select id from connection_logs order by connect_time, id",
    },
    {
      what: "connections of two types in the reader's organization",
      field: "connectionLogs",
      by: "CONNECT_TIME",
      arguments: `q: "type:workspace_app,port_forwarding"`,
      isLimited: true,
      rows: `select id from connection_logs where ${inDefault} order by connect_time, id`,
    },
  ];

  const document = ({ field, arguments: own = "" }: Pick<Ordered, "field" | "arguments">, page: string) => {
    const connection = `${field}(${own} ${page}) {
      edges { cursor node { ${field === "members" ? "user { id }" : "id"} } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount }`;
    return field === "members" ? `{ group(group: "${made.group}") { ${connection} } }` : `{ ${connection} }`;
  };

  async function read(client: Client, list: Pick<Ordered, "field" | "arguments">, page: string): Promise<Page> {
    const data = await client.graphql(document(list, page));
    return (data.group ?? data)[list.field];
  }

  const idsOf = ({ edges }: Page) => edges.map(({ node }) => (node.user ?? node).id);

  const clientOf = ({ isLimited }: Pick<Ordered, "isLimited">) => the().as(isLimited ? reader : the().owner);

  /** Reads all pages after, or before, each other, and checks what they say about their neighbors. */
  async function pages(list: Ordered, order: string, side: "after" | "before"): Promise<string[][]> {
    const found: string[][] = [];
    for (let place = "", more = true; more;) {
      const args = side === "after" ? `first: ${size} ${place}` : `last: ${size} ${place}`;
      const page = await read(clientOf(list), list, `${order} ${args}`);
      const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo;
      expect(side === "after" ? hasPreviousPage : hasNextPage).to.equal(found.length > 0);
      found.push(idsOf(page));
      more = side === "after" ? hasNextPage : hasPreviousPage;
      place = `${side}: ${JSON.stringify(side === "after" ? endCursor : startCursor)}`;
    }
    return found;
  }

  const chunks = (ids: string[]) =>
    Array.from({ length: Math.ceil(ids.length / size) }, (_, n) => ids.slice(n * size, (n + 1) * size));

  for (const list of lists)
    for (const direction of ["ASC", "DESC"])
      it(`is that of ${list.by} ${direction} and then of ids, on all pages of ${list.what}`, async () => {
        const ascending = await sql(list.rows);
        expect(ascending.length).to.be.above(size);
        const all = direction === "ASC" ? ascending : ascending.toReversed();
        const order = `orderBy: { field: ${list.by}, direction: ${direction} }`;
        expect(idsOf(await read(clientOf(list), list, order))).to.deep.equal(all);
        expect(await pages(list, order, "after"), "forward").to.deep.equal(chunks(all));
        const backward = (await pages(list, order, "before")).map((page) => page.toReversed());
        expect(backward, "backward").to.deep.equal(chunks(all.toReversed()));
        for (const offset of [1, size, all.length - 1, all.length]) {
          const skipped = await read(clientOf(list), list, `${order} first: ${size} offset: ${offset}`);
          expect(idsOf(skipped), `offset ${offset}`).to.deep.equal(all.slice(offset, offset + size));
          expect(skipped.totalCount).to.equal(all.length);
          const last = await read(clientOf(list), list, `${order} last: ${size} offset: ${offset}`);
          expect(idsOf(last), `last, offset ${offset}`).to.deep.equal(
            all.slice(Math.max(0, all.length - offset - size), all.length - offset),
          );
        }
        const behind = await read(clientOf(list), list, `${order} after: "${all[2]}" first: 2 offset: 1`);
        expect(idsOf(behind), "after an id").to.deep.equal(all.slice(4, 6));
      });

  const defaults = [
    ["users", "USERNAME", "ASC"],
    ["organizationMembers", "USERNAME", "ASC", `organization: "default"`],
    ["groups", "NAME", "ASC"],
    ["organizationGroups", "NAME", "ASC", `organization: "default"`],
    ["members", "USERNAME", "ASC"],
    ["auditEvents", "TIME", "DESC"],
    ["connectionLogs", "CONNECT_TIME", "DESC"],
  ];

  for (const [field, by, direction, own] of defaults as Array<[string, string, string, string?]>)
    it(`of ${field} is by default ${by} ${direction}`, async () => {
      const list = { field, ...(own && { arguments: own }) };
      const client = the().as(the().owner);
      const usual = await read(client, list, "first: 9");
      expect(usual.edges).to.have.length(9);
      const ordered = (to: string) => read(client, list, `first: 9 orderBy: { field: ${by}, direction: ${to} }`);
      expect(await ordered(direction)).to.deep.equal(usual);
      expect(await read(client, list, "first: 9 orderBy: null")).to.deep.equal(usual);
    });

  it("can be reversed at a cursor", async () => {
    const client = the().as(the().owner);
    const order = (direction: string) => `orderBy: { field: CREATED_AT, direction: ${direction} }`;
    const all = await sql(users("true", "created_at"));
    const { pageInfo } = await read(client, { field: "users" }, `${order("ASC")} first: 9`);
    const back = await read(client, { field: "users" }, `${order("DESC")} after: "${pageInfo.endCursor}"`);
    expect(idsOf(back)).to.deep.equal(all.slice(0, 8).toReversed());
  });

  it("rejects cursors of another order", async () => {
    const client = the().as(the().owner);
    const inDefaultOrganization = `organization: "default"`;
    for (const [field, own, one, other] of [
      ["users", "", "USERNAME", "CREATED_AT"],
      ["users", "", "CREATED_AT", "USERNAME"],
      ["organizationMembers", inDefaultOrganization, "USERNAME", "JOINED_AT"],
      ["organizationMembers", inDefaultOrganization, "JOINED_AT", "USERNAME"],
    ] as const) {
      const list = { field, arguments: own };
      const { pageInfo } = await read(client, list, `orderBy: { field: ${one}, direction: ASC } first: 2`);
      for (const side of ["after", "before"]) {
        const page = `orderBy: { field: ${other}, direction: ASC } ${side}: "${pageInfo.endCursor}"`;
        const failure = await client.failure(document(list, page));
        expect(failure.code).to.equal("BAD_USER_INPUT");
        expect(failure.errors[0]!.extensions.validations).to.deep.equal([
          { field: side, detail: "Must be a cursor of this list or the id of a row." },
        ]);
      }
    }
    const { pageInfo } = await read(client, { field: "connectionLogs" }, "first: 1");
    const failure = await client.failure(document({ field: "auditEvents" }, `after: "${pageInfo.endCursor}"`));
    expect(failure.code).to.equal("BAD_USER_INPUT");
  });

  it("does not disclose keys that the caller may not read", async () => {
    const w = the();
    const byJoining = "orderBy: { field: JOINED_AT, direction: ASC }";
    const list = { field: "organizationMembers", arguments: `organization: "default"` };
    const failed = (error: unknown) => error instanceof GraphqlFailure && error.code;
    expect(await read(w.as(plain), list, byJoining).catch(failed)).to.equal("FORBIDDEN");

    const [hidden] = await sql("select id from users where name = 'Stranger'");
    for (const id of [newId(), hidden])
      for (const page of [`after: "${id}"`, `before: "${id}"`]) {
        expect(idsOf(await read(w.as(reader), list, `${byJoining} ${page}`))).to.deep.equal([]);
        const created = await read(
          w.as(reader),
          { field: "users" },
          `orderBy: { field: CREATED_AT, direction: DESC } ${page}`,
        );
        expect(idsOf(created)).to.deep.equal([]);
      }
  });
});

describe("a list of many rows", () => {
  const connections = 2;
  const the = world({ STEWARD_DATABASE_POOL: String(connections) });
  const rows = 12_000;
  const tables = ["users", "organization_members", "groups", "audit_events", "connection_logs"];
  let reader: Person;

  before(async () => {
    const w = the();
    reader = await w.user("reader");
    await w.grant(reader, "organization-template-admin", "organization-auditor");
    const { pool } = w.app.services.database;
    await pool.query(
      `insert into users (id, created_at, updated_at, email, username, name, login_type, status, last_seen_at)
      select md5(n::text)::uuid, now() - make_interval(mins => n % 8000), now(), n || '@example.com', 'user-' || n, '',
        'password', case when n % 1000 = 0 then 'suspended' else 'active' end, timestamptz '2026-05-01T12:00:00Z' - make_interval(days => n % 100)
      from generate_series(1, ${rows}) n`,
    );
    await pool.query(
      `insert into organization_members (organization_id, user_id, created_at)
      select $1, id, now() - make_interval(mins => (random() * 20000)::int) from users where email like '%@example.com'
      on conflict do nothing`,
      [w.defaultOrganization],
    );
    await pool.query(
      `insert into groups (id, created_at, updated_at, organization_id, name)
      select gen_random_uuid(), now(), now(), $1, 'group-' || n from generate_series(1, ${rows}) n`,
      [w.defaultOrganization],
    );
    await pool.query(
      `insert into audit_events (id, time, actor_kind, action, resource_type, organization_id, diff, request_id)
      select ${firstMonthId}, now() - make_interval(mins => n), 'system', 'update', 'group', $1, '{}', 'made'
      from generate_series(1, ${rows}) n`,
      [w.defaultOrganization],
    );
    await pool.query(
      `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
        slug_or_port, connect_time, reporter)
      select ${firstMonthId}, $1, gen_random_uuid(), 'box', $2, 'main', 'workspace_app', 'chat',
        now() - make_interval(mins => n), gen_random_uuid()
      from generate_series(1, ${rows}) n`,
      [w.defaultOrganization, reader.id],
    );
    await pool.query(`vacuum analyze ${tables.join()}`);
  });

  const inDefault = `organization: "default"`;
  const lists: Array<[what: string, list: string, by: string, isLimited?: boolean]> = [
    ["users", "users(", "USERNAME"],
    ["users", "users(", "CREATED_AT"],
    ["users of the reader's organization", "users(", "USERNAME", true],
    ["users of the reader's organization", "users(", "CREATED_AT", true],
    ["users with a rare status", "users(filter: { status: SUSPENDED }", "USERNAME"],
    ["users with a rare status", "users(filter: { status: SUSPENDED }", "CREATED_AT"],
    ["users with a usual status", "users(filter: { status: ACTIVE }", "CREATED_AT"],
    ["users since a time", `users(filter: { createdAfter: "2020-01-01T00:00:00Z" }`, "CREATED_AT"],
    [
      "users seen on a day",
      `users(filter: { lastSeenAfter: "2026-04-01T06:00:00Z", lastSeenBefore: "2026-04-01T18:00:00Z" }`,
      "USERNAME",
    ],
    ["users not seen lately", `users(filter: { lastSeenBefore: "2026-01-24T00:00:00Z" }`, "USERNAME"],
    ["members", `organizationMembers(${inDefault}`, "USERNAME", true],
    ["members", `organizationMembers(${inDefault}`, "JOINED_AT", true],
    ["groups", "groups(", "NAME"],
    ["groups of an organization", `organizationGroups(${inDefault}`, "NAME", true],
    ["groups found by a rare search", `groups(filter: { search: "1199" }`, "NAME"],
    ["groups found by a usual search", `groups(filter: { search: "group" }`, "NAME"],
    [
      "groups of an organization found by a search",
      `organizationGroups(${inDefault}, filter: { search: "1199" }`,
      "NAME",
      true,
    ],
    ["audit events", "auditEvents(", "TIME"],
    ["audit events of the reader's organization", "auditEvents(", "TIME", true],
    ["audit events of a type", `auditEvents(filter: { resourceType: "group" }`, "TIME"],
    ["connections", "connectionLogs(", "CONNECT_TIME"],
    ["connections of the reader's organization", "connectionLogs(", "CONNECT_TIME", true],
  ];

  for (const [what, list, by, isLimited] of lists)
    it(`is read through an index of each order: ${what} by ${by}`, async () => {
      const w = the();
      const client = w.as(isLimited ? reader : w.owner);
      for (const direction of ["ASC", "DESC"]) {
        const read = async (page: string) =>
          (
            await client.graphql(
              `{ list: ${list} orderBy: { field: ${by}, direction: ${direction} } ${page}) { nodes { id } pageInfo { endCursor } } }`,
            )
          ).list.pageInfo.endCursor as string | null;
        const cursor = (await read("first: 10 offset: 5000")) ?? (await read("first: 5"));
        for (const page of ["first: 10", "last: 10", `first: 10 after: "${cursor}"`, `last: 10 before: "${cursor}"`]) {
          // Behind a cursor, Postgres looks for a rare word in the rest of the list.
          const isSearched = what.includes("search") && /after|before/.test(page);
          const most = isSearched ? rows : 1_500;
          const reads = () => onEveryConnection(connections, () => read(page));
          const { scans, fetched } = await readsOf(w, tables, reads, most * connections);
          expect(scans, `sequential scans for ${direction} ${page}`).to.equal(0);
          expect(fetched / connections, `rows fetched for ${direction} ${page}`).to.be.below(most);
        }
      }
    });
});
