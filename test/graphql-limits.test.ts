// What a document of the caller may cost, judged by what it really selects, and how large its response may be.
import { expect } from "chai";
import { getIntrospectionQuery } from "graphql";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { world } from "./support/world.js";

describe("the limits of callers' documents", () => {
  const w = world();

  /** Returns the response of the first of three runs, which must all be the same. */
  async function run(query: string, variables = {}) {
    const send = async () => {
      const { status, body } = await w().as(w().owner).post("/graphql", { query, variables });
      const [{ message, extensions } = { message: undefined, extensions: undefined }] = body.errors ?? [];
      return { status, message, code: extensions?.code, data: body.data };
    };
    const first = await send();
    for (const time of ["second", "third"]) expect(await send(), `the ${time} time`).to.deep.equal(first);
    return first;
  }
  const accepted = async (query: string, variables = {}) =>
    expect((await run(query, variables)).message, query.slice(0, 300)).to.equal(undefined);
  const tooCostly = async (query: string, variables = {}) =>
    expect(await run(query, variables), query.slice(0, 300)).to.deep.include({
      status: 400,
      code: "BAD_USER_INPUT",
      message: "The document may touch more than 50000 objects.",
    });

  const repeated = (times: number, selection: string) =>
    Array.from({ length: times }, (_, n) => `a${n}: ${selection}`).join(" ");

  it("count introspection by the objects that it returns", async () => {
    const types = "types { fields { description args { name } type { name ofType { name ofType { name } } } } }";
    await accepted(`{ __schema { ${repeated(2, types)} } }`);
    await tooCostly(`{ __schema { ${repeated(30, types)} } }`);
    await tooCostly(
      `query($old: Boolean) { __schema { ${repeated(30, types.replace("fields", "fields(includeDeprecated: $old)"))} } }`,
    );
    await accepted(`query($name: String!) { ${repeated(90, "__type(name: $name) { fields { name } }")} }`, {
      name: "UUID",
    });
  });

  it("allow the full introspection query of tools", async () => {
    await accepted(getIntrospectionQuery());
    const all = { descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true };
    await accepted(
      getIntrospectionQuery({ ...all, schemaDescription: true, inputValueDeprecation: true, oneOf: true }),
    );
  });

  it("allow callers without a credential only documents of at most 500 tokens, in POST and GET alike", async () => {
    const document = (fields: number) => `{ serverInfo { ${"version ".repeat(fields)}} } # ${"comment ".repeat(600)}`;
    const get = (query: string) =>
      w().nobody.get(`/graphql?query=${encodeURIComponent(query)}`, { "Apollo-Require-Preflight": "true" });
    for (const send of [(query: string) => w().nobody.post("/graphql", { query }), get]) {
      expect(await send(document(495))).to.include({ status: 200 });
      const refused = await send(document(496));
      expect(refused.status).to.equal(401);
      expect(refused.body.errors[0].extensions).to.include({
        code: "UNAUTHENTICATED",
        detail: "A document with more than 500 tokens requires a credential.",
      });
      expect(refused.headers.get("www-authenticate"))
        .to.match(/^Bearer /)
        .and.not.include("error=");
      // The parser says what is wrong with the syntax.
      expect((await send("{ serverInfo { version } } ]")).status).to.equal(400);
    }
    await accepted(document(496));
    const introspection = getIntrospectionQuery({ inputValueDeprecation: true, specifiedByUrl: true, oneOf: true });
    const full = await w().nobody.post("/graphql", { query: introspection });
    expect(full.status).to.equal(200);
    expect(JSON.stringify(full.body.data)).to.include('"name":"UpdateGroupInput"');
  });

  it("respond to introspection by its variables and its operation, in any order of requests", async () => {
    const query = `query A($name: String!) { type: __type(name: $name) { name fields(includeDeprecated: true) { name } } }
      query B($name: String!) { type: __type(name: $name) { kind } }`;
    const ask = async (operationName: string, name: string, text = query) =>
      (await w().nobody.post("/graphql", { query: text, operationName, variables: { name } })).body.data.type;
    for (let time = 0; time < 3; time++) {
      expect(await ask("A", "User")).to.have.property("name", "User");
      expect(await ask("A", "Group")).to.have.property("name", "Group");
      expect(await ask("B", "User")).to.deep.equal({ kind: "OBJECT" });
      expect(await ask("A", "Nothing")).to.equal(null);
      expect(await ask("A", "User", query.replace("{ name fields", "{ alias: name fields"))).to.have.property("alias");
      const mixed = `query A($name: String!) { __type(name: $name) { name } me { id } }`;
      const { body } = await w().nobody.post("/graphql", { query: mixed, variables: { name: "User" } });
      expect(body.errors[0].extensions.code).to.equal("UNAUTHENTICATED");
      const { me } = await w().as(w().owner).graphql(mixed, { name: "User" });
      expect(me.id).to.equal(w().owner.id);
    }
  });

  it("count the items of list arguments, in variables, defaults and literals", async () => {
    const ids = (count: number) => Array.from({ length: count }, () => w().defaultOrganization);
    const groups = (value: string) => repeated(100, `groups(first: 1, filter: { ids: ${value} }) { totalCount }`);
    const byVariable = `query($ids: [UUID!]) { ${groups("$ids")} }`;
    await accepted(byVariable, { ids: ids(1) });
    await tooCostly(byVariable, { ids: ids(600) });
    await tooCostly(`query($filter: GroupFilter) { ${repeated(100, "groups(filter: $filter) { totalCount }")} }`, {
      filter: { ids: ids(600) },
    });
    await tooCostly(`query($ids: [UUID!] = ${JSON.stringify(ids(600))}) { ${groups("$ids")} }`);
  });

  it("count a list without pages by what its field declares", async () => {
    const check = { key: "one", action: "read", object: { resourceType: "group" } };
    const checks = Array.from({ length: 500 }, (_, n) => ({ ...check, key: String(n) }));
    const query = `query($checks: [AuthCheckInput!]!) { ${repeated(60, "authCheck(checks: $checks) { allowed }")} }`;
    await accepted(query, { checks: [check] });
    await tooCostly(query, { checks });
  });

  it("count again if other variables may cost more, even in a known document", async () => {
    const shown = "{ fields { args { type { name ofType { name } } } type { ...Fields ofType { ...Fields } } } }";
    const fields = "fragment Fields on __Type { fields { args { name } type { name ofType { name } } } }";
    const byName = `query($name: String!) { ${repeated(90, `__type(name: $name) ${shown}`)} } ${fields}`;
    await accepted(byName, { name: "UUID" });
    await tooCostly(byName, { name: "Query" });
    // Null is invalid here: the executor rejects the field, and it costs nothing.
    const members = repeated(60, "group(group: $group) { members(first: 1000) { nodes { addedAt } } }");
    const byDefault = `query($group: String = "${w().defaultOrganization}") { ${members} }`;
    expect((await run(byDefault, { group: null })).status).to.equal(200);
    await tooCostly(byDefault);
  });

  it("count pages from the end like those from the start", async () => {
    const pages = (count: string) =>
      `query($n: Int) { groups(${count}: $n) { nodes { members(${count}: $n) { nodes { addedAt } } } } }`;
    for (const count of ["first", "last"]) {
      await accepted(pages(count), { n: 10 });
      await tooCostly(pages(count), { n: 1000 });
    }
  });

  it("allow a default page of default pages with all fields of its nodes", async () => {
    const member = "addedAt account { id username name email roles { name displayName } }";
    const group = "id name displayName organization { id name } aiBudget { spendLimitMicros }";
    const page = "pageInfo { hasNextPage endCursor } totalCount";
    await accepted(`{ groups { ${page} nodes { ${group} members { ${page} nodes { ${member} } } } } }`);
    await accepted(
      `{ groups { ${page} edges { cursor node { ${group} members { ${page} edges { cursor node { ${member} } } } } } } }`,
    );
  });

  it("reject a response of more than 8 MiB, over HTTP and over sockets", async () => {
    for (let n = 1; n <= 60; n++) {
      const large = { name: `large-${n}`, avatar_url: `/${"x".repeat(2000)}` };
      expect(await w().as(w().owner).post("/api/v2/organizations/default/groups", large)).to.include({ status: 201 });
    }
    const query = (aliases: number) => `{ groups { nodes { ${repeated(aliases, "avatarUrl")} } } }`;
    await accepted(query(50));
    const refusal = await run(query(90));
    expect(refusal).to.deep.include({ status: 200, code: "BAD_USER_INPUT", data: null });
    expect(refusal.message).to.match(/larger than 8388608 bytes/);
    const client = createClient({
      url: `${w().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: w().owner.token },
    });
    for await (const { errors, data } of client.iterate({ query: query(90) })) {
      expect(data ?? null).to.equal(null);
      expect(errors![0]!.message).to.match(/larger than 8388608 bytes/);
    }
    await client.dispose();
  });
});
