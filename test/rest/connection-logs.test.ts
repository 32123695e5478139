import { expect } from "chai";
import { idOfTime, newId } from "../support/ids.js";
import { logged as serverLog } from "../support/app.js";
import { logged, logPath } from "../support/connections.js";
import { Random } from "../support/random.js";
import { enter, insert } from "../support/stage.js";
import { type Person, type World, world } from "../support/world.js";

const seed = Number(process.env.STEWARD_TEST_SEED ?? 1);

const connectionLogs = `query($q: String, $first: Int, $after: String, $last: Int, $before: String, $offset: Int) {
  connectionLogs(q: $q, first: $first, after: $after, last: $last, before: $before, offset: $offset) {
    nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount countCap } }`;

/** A row as it is stored. */
interface Row {
  id: string;
  organization_id: string;
  workspace_id: string;
  workspace_owner_id: string;
  type: string;
  connect_time: string;
  connection_id: string | null;
  disconnect_time: string | null;
  user_id: string | null;
}

const sessions = ["ssh", "vscode", "jetbrains", "reconnecting_pty"];

async function store(w: World, rows: Row[]): Promise<void> {
  const all = rows.map((row) => ({
    ...row,
    workspace_name: "box",
    agent_name: "main",
    reporter: row.workspace_id,
    event_id: row.connection_id ? null : newId(),
    is_connect_reported: true,
    slug_or_port: row.connection_id ? null : "8080",
  }));
  await insert(w, { connection_logs: all });
}

const rowOf = (w: World, more: Partial<Row> = {}): Row => ({
  id: newId(),
  organization_id: w.defaultOrganization,
  workspace_id: newId(),
  workspace_owner_id: w.owner.id,
  type: "ssh",
  connect_time: new Date().toISOString(),
  connection_id: newId(),
  disconnect_time: null,
  user_id: null,
  ...more,
});

describe("the connection log", () => {
  const the = world();
  const get = (w: World, query: string, person = w.owner) => w.as(person).get(`${logPath}${query}`);

  it("requires a limit, where 0 stands for the default", async () => {
    const w = the();
    await store(
      w,
      Array.from({ length: 101 }, () => rowOf(w)),
    );
    const missing = await get(w, "");
    expect(missing).to.include({ status: 400 });
    expect(missing.body.message).to.equal("Query parameters have invalid values.");
    expect(missing.body.validations).to.deep.equal([{ field: "limit", detail: "Is required." }]);
    for (const query of ["?limit=", "?limit=-1", "?limit=1001", "?limit=x", "?limit=1&limit=2", "?limit=1&offset=-1"]) {
      const { status, body } = await get(w, query);
      expect(status, query).to.equal(400);
      expect(body.validations, query).to.have.length(1);
    }
    expect((await get(w, "?limit=0")).body.connection_logs).to.have.length(100);
    expect((await get(w, "?limit=3")).body.connection_logs).to.have.length(3);
    expect((await get(w, "?limit=5&offset=99")).body.connection_logs).to.have.length(2);
    expect((await get(w, "?limit=5&offset=2147483647")).body).to.deep.equal({
      connection_logs: [],
      count: 101,
      count_cap: 2000,
    });
  });

  it("is open to owners and auditors, to those of an organization for its rows, and to no other user", async () => {
    const w = the();
    const id = newId();
    const seen = async (part: Parameters<typeof enter>[1]) => {
      const { client, stage } = await enter(w, part);
      const mine = rowOf(w, { id: newId(), organization_id: stage.organization, workspace_id: id });
      await store(w, [mine, rowOf(w, { workspace_id: id })]);
      const { status, body } = await client.get(`${logPath}?limit=1000&q=workspace_id:${id}`);
      if (status !== 200) {
        expect((await client.failure(connectionLogs)).code).to.equal("FORBIDDEN");
        return status;
      }
      const { nodes, totalCount } = (await client.graphql(connectionLogs, { q: `workspace_id:${id}`, first: 1000 }))
        .connectionLogs;
      expect(nodes.map((node) => node.id)).to.deep.equal(body.connection_logs.map((row: Row) => row.id));
      expect([totalCount, body.count]).to.deep.equal([nodes.length, nodes.length]);
      return nodes.some((node) => node.id === mine.id) ? (nodes.length > 1 ? "all" : "own") : "none";
    };
    const roles = (...names: string[]) => ({ roles: names.map((name) => `organization-${name}`) });
    expect(await seen({ siteRoles: ["owner"] })).to.equal("all");
    expect(await seen({ siteRoles: ["auditor"] })).to.equal("all");
    expect(await seen(roles("admin"))).to.equal("own");
    expect(await seen(roles("auditor"))).to.equal("own");
    expect(await seen({ rolesElsewhere: ["organization-admin"] })).to.equal("none");
    for (const part of [{}, roles(), roles("template-admin", "user-admin"), { siteRoles: ["user-admin"] }]) {
      expect(await seen(part), JSON.stringify(part)).to.equal(403);
    }
    expect(await seen({ siteRoles: ["owner"], scopes: ["audit_log:read"] })).to.equal(403);
    expect(await seen({ siteRoles: ["owner"], scopes: ["connection_log:read"] })).to.equal("all");
    expect(await w.nobody.get(`${logPath}?limit=1`)).to.include({ status: 401 });
  });

  it("counts up to 2000, and reports the cap", async () => {
    const w = the();
    const many = newId();
    const few = newId();
    await store(
      w,
      Array.from({ length: 2_500 }, (_, n) => rowOf(w, { workspace_id: n < 7 ? few : many })),
    );
    const count = async (q: string) => {
      const { count: rest, count_cap } = await logged(w, q);
      const { totalCount, countCap } = (await w.as(w.owner).graphql(connectionLogs, { q })).connectionLogs;
      expect([totalCount, countCap]).to.deep.equal([rest, count_cap]);
      return [rest, count_cap];
    };
    expect(await count("")).to.deep.equal([2001, 2000]);
    expect(await count(`workspace_id:${few}`)).to.deep.equal([7, 2000]);
    expect(await count(`workspace_id:${many}`)).to.deep.equal([2001, 2000]);
    expect(await count(`workspace_id:${newId()}`)).to.deep.equal([0, 2000]);
  });

  it("rejects a search with all its faults", async () => {
    const w = the();
    const faults = async (q: string): Promise<string[]> => {
      const { status, body } = await get(w, `?limit=1&q=${encodeURIComponent(q)}`);
      expect(status, q).to.equal(400);
      expect(body.message).to.equal("Invalid connection search query.");
      const { extensions, message } = (await w.as(w.owner).failure(connectionLogs, { q })).errors[0]!;
      expect([extensions.code, message]).to.deep.equal(["BAD_USER_INPUT", body.message]);
      expect(extensions.validations).to.deep.equal(body.validations);
      for (const { field } of body.validations) expect(field).to.equal("q");
      return body.validations.map(({ detail }: { detail: string }) => detail);
    };
    const types = "ssh, vscode, jetbrains, reconnecting_pty, workspace_app, port_forwarding";
    expect(await faults("foo:1 type:bad bare")).to.deep.equal([
      'There is no search key "foo".',
      `The value of type must be one of ${types}.`,
      'The word "bare" must have a key.',
    ]);
    expect(await faults("type:ssh TYPE:vscode type:ssh")).to.deep.equal(
      Array(2).fill("The key type must occur only once."),
    );
    expect(await faults('organization: username:"" type:ssh, workspace_owner:"open')).to.deep.equal([
      "The value of organization must not be empty.",
      "The value of username must not be empty.",
      "The value of type must not be empty.",
      "The value of workspace_owner lacks its closing quote.",
    ]);
    expect(await faults("workspace_id:1 connection_id:x status:gone connected_after:monday")).to.deep.equal([
      "The value of workspace_id must be a UUID.",
      "The value of connection_id must be a UUID.",
      "The value of status must be one of ongoing, completed.",
      "The value of connected_after must be a date and time in RFC 3339 form, or YYYY-MM-DD.",
    ]);
    expect(await faults(`username:${"x".repeat(1024)}`)).to.deep.equal(["Must be at most 1024 bytes."]);
    expect(await faults("a ".repeat(21))).to.have.length(21);
  });
});

/** The objects that the rows of the log refer to. */
interface Fixture {
  people: Person[];
  organizations: Array<{ id: string; name: string }>;
  workspaces: string[];
  connections: string[];
}

describe(`searches of the connection log (STEWARD_TEST_SEED=${seed})`, () => {
  const the = world();
  const random = new Random(seed, []);
  let rows: Row[];
  let fixture: Fixture;
  let administrator: Person;

  before(async () => {
    const w = the();
    const people = await w.users("ann", "ben", "cat", "dan");
    const others = [await w.organization(), await w.organization()];
    const organizations = [{ id: w.defaultOrganization, name: "main" }, ...others];
    administrator = await w.user(
      "head",
      organizations.slice(0, 2).map(({ id }) => id),
    );
    for (const { id } of organizations.slice(0, 2)) {
      await w.as(w.owner).graphql(
        `mutation($id: String!, $user: String!) { setOrganizationMemberRoles(
          input: { organization: $id, user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
        { id, user: administrator.id },
      );
    }
    fixture = {
      people,
      organizations,
      workspaces: Array.from({ length: 8 }, newId),
      connections: Array.from({ length: 120 }, newId),
    };
    const day = 86_400_000;
    rows = Array.from({ length: 600 }, () => {
      const type = random.one([...sessions, "workspace_app", "port_forwarding"]);
      const isSession = sessions.includes(type);
      // Many rows share a time, near which they were reported.
      const time = Date.UTC(2026, 0, 1) + random.below(20) * (day / 4);
      return rowOf(w, {
        id: idOfTime(time),
        type,
        organization_id: random.one(organizations).id,
        workspace_id: random.one(fixture.workspaces),
        workspace_owner_id: random.one(people).id,
        connect_time: new Date(time).toISOString(),
        connection_id: isSession ? newId() : null,
        disconnect_time: isSession && random.chance(0.5) ? new Date().toISOString() : null,
        user_id: !isSession && random.chance(0.7) ? random.one(people).id : null,
      });
    });
    for (const [n, row] of rows.filter(({ connection_id: id }) => id).entries())
      if (n < fixture.connections.length) row.connection_id = fixture.connections[n]!;
    await store(w, rows);
    rows.sort((a, b) =>
      a.connect_time === b.connect_time ? compare(b.id, a.id) : compare(b.connect_time, a.connect_time),
    );
  });

  const compare = (a: string, b: string) => (a < b ? -1 : 1);

  /** A search term, and a predicate of the rows that it matches. */
  type Term = [text: string, meets: (row: Row) => boolean];

  function terms(reader: Person): Term[] {
    const { people, organizations, workspaces, connections } = fixture;
    const everybody = [...people, the().owner, administrator];
    const some = <Item>(items: readonly Item[]) =>
      Array.from({ length: random.chance(0.6) ? 1 : 2 + random.below(3) }, () => random.one(items));
    const person = (key: string, by: (person: Person) => string, idOf: (row: Row) => string | null): Term => {
      const chosen = some(everybody);
      const texts = chosen.map((each) => (random.chance(0.15) && by(each) === each.username ? "me" : by(each)));
      const ids = new Set(texts.map((text, n) => (text === "me" ? reader.id : chosen[n]!.id)));
      return [`${key}:${texts.join(",")}`, (row) => ids.has(idOf(row) ?? "")];
    };
    const named = ({ id, username }: Person) => random.one([id, username, username.toUpperCase(), id.toUpperCase()]);
    const email = ({ email: address }: Person) => random.one([address, address.toUpperCase()]);
    const owner = (row: Row) => row.workspace_owner_id;
    const visitor = (row: Row) => row.user_id;
    const within = some(organizations);
    const types = some([...sessions, "workspace_app", "port_forwarding"]);
    const statuses = some(["ongoing", "completed"]);
    const boxes = some([...workspaces, newId()]);
    const links = some([...connections, newId()]);
    const times = some(rows.map(({ connect_time: time }) => time));
    const earliest = times.toSorted()[0]!;
    const latest = times.toSorted().at(-1)!;
    const statusOf = ({ connection_id: id, disconnect_time: end }: Row) => id && (end ? "completed" : "ongoing");
    return [
      [
        `organization:${within.map(({ id, name }, n) => (id === the().defaultOrganization ? ["default", name, id][n % 3] : [id, name.toUpperCase()][n % 2])).join(",")}`,
        (row) => within.some(({ id }) => id === row.organization_id),
      ],
      person("workspace_owner", named, owner),
      person("workspace_owner_email", email, owner),
      person("username", named, visitor),
      person("user_email", email, visitor),
      [`type:${types.join(",")}`, ({ type }) => types.includes(type)],
      [`Status:${statuses.join(",").toUpperCase()}`, (row) => statuses.includes(statusOf(row) ?? "")],
      [`connected_after:"${times.join('","')}"`, ({ connect_time: time }) => time >= earliest],
      [`connected_before:${times.join(",")}`, ({ connect_time: time }) => time <= latest],
      [`workspace_id:${boxes.join(",")}`, (row) => boxes.includes(row.workspace_id)],
      [`connection_id:${links.join(",")}`, (row) => links.includes(row.connection_id ?? "")],
      ["connected_after:2026-01-03", ({ connect_time: time }) => time >= "2026-01-03T00:00:00.000Z"],
      ["username:nobody-has-this", () => false],
      ["workspace_owner_email:nobody@example.com", () => false],
      ["organization:nowhere", () => false],
    ];
  }

  it("find the matching rows, in order and on every page, and count them", async () => {
    const w = the();
    const readable = (reader: Person) =>
      reader === w.owner ? fixture.organizations : fixture.organizations.slice(0, 2);
    let found = 0;
    for (let round = 0; round < 300; round++) {
      const reader = random.one([w.owner, administrator]);
      const chosen = new Map<string, Term>();
      for (const term of terms(reader).filter(() => random.chance(0.18))) chosen.set(term[0].split(":")[0]!, term);
      const q = [...chosen.values()].map(([text]) => text).join(" ");
      const expected = rows.filter(
        (row) =>
          readable(reader).some(({ id }) => id === row.organization_id) &&
          [...chosen.values()].every(([, meets]) => meets(row)),
      );
      const ids = expected.map(({ id }) => id);
      found += ids.length;
      const client = w.as(reader);
      const offset = random.below(5) * 7;
      const limit = 1 + random.below(120);
      const answer = await client.get(`${logPath}?limit=${limit}&offset=${offset}&q=${encodeURIComponent(q)}`);
      expect(answer.status, `${q}: ${JSON.stringify(answer.body)}`).to.equal(200);
      const shown = answer.body.connection_logs.map((row: Row) => row.id);
      expect(shown, `${q} (${offset}, ${limit})`).to.deep.equal(ids.slice(offset, offset + limit));
      expect(answer.body.count, q).to.equal(ids.length);
      if (round % 5 === 0) await walk(reader, q, ids);
    }
    expect(found).to.be.above(1_000);
  });

  /** Walks through all pages by cursor, forward and backward. */
  async function walk(reader: Person, q: string, ids: string[]): Promise<void> {
    const client = the().as(reader);
    const first = Math.max(1, Math.ceil(ids.length / 4));
    const pages = async (variables: (page?: { startCursor: string; endCursor: string }) => object) => {
      const read: string[][] = [];
      for (let page: { startCursor: string; endCursor: string } | undefined; read.flat().length <= ids.length;) {
        const { nodes, pageInfo } = (await client.graphql(connectionLogs, { q, ...variables(page) })).connectionLogs;
        read.push(nodes.map((node) => node.id));
        if (
          !("before" in variables(page) || "last" in variables(page) ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)
        )
          return read;
        page = pageInfo;
      }
      return read;
    };
    expect((await pages((page) => ({ first, after: page?.endCursor }))).flat(), q).to.deep.equal(ids);
    const backward = await pages((page) => ({ last: first, before: page?.startCursor }));
    expect(backward.toReversed().flat(), q).to.deep.equal(ids);
    const middle = ids[Math.floor(ids.length / 2)];
    if (!middle) return;
    const { nodes } = (await client.graphql(connectionLogs, { q, first: 3, after: middle, offset: 1 })).connectionLogs;
    const at = ids.indexOf(middle) + 2;
    expect(
      nodes.map((node) => node.id),
      q,
    ).to.deep.equal(ids.slice(at, at + 3));
  }

  it("respond 200 or 400 to two thousand random texts", async () => {
    const w = the();
    const before = serverLog.length;
    const keys = terms(w.owner).map(([text]) => text.split(":")[0]!);
    const known = terms(w.owner).map(([text]) => text.slice(text.indexOf(":") + 1));
    const hostile = new Random(seed + 1, [...known, "ongoing", "ssh", "me", "default", "2026-01-02", newId()]);
    const piece = (): string => {
      const value = hostile.chance(0.7) ? hostile.one(known) : hostile.text();
      const quoted = hostile.chance(0.2) ? `"${value}"` : value;
      const key = hostile.chance(0.8) ? hostile.one(keys) : hostile.text();
      return hostile.chance(0.9) ? `${key}:${quoted}` : quoted;
    };
    const statuses = new Map<number, number>();
    let left = 2_000;
    const work = async () => {
      while (left-- > 0) {
        const text = Array.from({ length: 1 + hostile.below(4) }, piece).join(hostile.one([" ", "  ", "\t", ","]));
        const q = hostile.chance(0.15) ? hostile.broken(text) : text;
        const url = `${logPath}?limit=${hostile.one([1, 1, 2, 20])}&offset=${hostile.one([0, 1, 50])}&q=`;
        const { status, body } = await w.as(w.owner).get(url + encodeURIComponent(q.toWellFormed()));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 400) for (const { field } of body.validations) expect(field, q).to.equal("q");
        else expect(status, `${q}: ${JSON.stringify(body)}`).to.equal(200);
      }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    expect([...statuses.keys()]).to.have.members([200, 400]);
    expect(Math.min(...statuses.values())).to.be.above(200);
    expect(serverLog.slice(before)).to.deep.equal([]);
  });
});
