// GraphQL over HTTP: the protocol, the form of errors, and the limits of callers' documents.
import { expect } from "chai";
import { serverAudits } from "graphql-http";
import { getIntrospectionQuery } from "graphql";
import { newId } from "./support/ids.js";
import { startServer } from "./support/app.js";
import { browse } from "./support/browse.js";
import { Client, world } from "./support/world.js";

interface Failure {
  path: string[];
  extensions: { code: string };
}

interface GraphqlAnswer {
  status: number;
  headers: Headers;
  body: {
    data?: Record<string, unknown> | null;
    errors?: Array<{
      message: string;
      extensions: { code: string; requestId?: string; validations?: Array<{ field: string; detail: string }> };
    }>;
  };
}

describe("GraphQL over HTTP", () => {
  const w = world();
  const owner = () => w().as(w().owner);
  const ask = (body: unknown, headers?: Record<string, string>): Promise<GraphqlAnswer> =>
    owner().post("/graphql", body, headers);

  it("keeps the data of the other fields when an object is missing, in every run of a document", async () => {
    const { id, name } = await w().group();
    const query = `query($missing: String!) {
      found: group(group: "${id}") { name }
      missing: group(group: $missing) { name }
      quietHours(user: $missing) { time }
      me { username } }`;
    for (const run of ["first", "second", "third"]) {
      const { status, body } = await owner().post("/graphql", { query, variables: { missing: newId() } });
      expect(status, run).to.equal(200);
      expect(body.data, run).to.deep.equal({
        found: { name },
        missing: null,
        quietHours: null,
        me: { username: "owner" },
      });
      const errors = body.errors.map(({ path, extensions }: Failure) => [path, extensions.code]);
      expect(errors, run).to.have.deep.members([
        [["missing"], "NOT_FOUND"],
        [["quietHours"], "NOT_FOUND"],
      ]);
    }
  });

  /** The only error of a response. */
  async function refusal(body: unknown, headers?: Record<string, string>) {
    const answer = await ask(body, headers);
    expect(answer.body.errors, JSON.stringify(answer.body)).to.have.length(1);
    expect(answer.body.data ?? null).to.equal(null);
    return { status: answer.status, ...answer.body.errors![0]! };
  }

  describe("the protocol", () => {
    for (const { id, name } of serverAudits({ url: "" })) {
      it(`${id}: ${name}`, async () => {
        const audit = serverAudits({ url: `${w().url}/graphql`, fetchFn: fetch }).find((each) => each.id === id)!;
        const result = await audit.fn();
        expect(result.status, "reason" in result ? result.reason : "").to.not.equal("error");
      });
    }

    it("accepts queries by GET and HEAD, with a credential in a header", async () => {
      const path = `/graphql?query=${encodeURIComponent("{ me { username } }")}`;
      const answer = await owner().get(path);
      expect(answer).to.include({ status: 200 });
      expect(answer.body.data.me.username).to.equal("owner");
      const bearer = { Authorization: `Bearer ${w().owner.token}` };
      expect((await w().nobody.get(path, bearer)).body).to.deep.equal(answer.body);
      expect(await owner().request("HEAD", path)).to.include({ status: 200, body: "" });
    });

    it("accepts other queries by GET only with a header that pages of other sites cannot send", async () => {
      const preflighted = { "Apollo-Require-Preflight": "1" };
      const open = `/graphql?query=${encodeURIComponent("{ serverInfo { version } }")}`;
      expect(await w().nobody.get(open)).to.include({ status: 400 });
      expect(await w().nobody.get(open, preflighted)).to.include({ status: 200 });
      const closed = `/graphql?query=${encodeURIComponent("{ me { username } }")}`;
      const Cookie = `service_session_token=${w().owner.token}`;
      const read = (site: string, headers = {}) =>
        browse(w().url, closed, { Cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors", ...headers });
      expect(await read("same-origin")).to.include({ status: 400 });
      expect(await read("cross-site")).to.include({ status: 400 });
      expect(JSON.parse((await read("same-origin", preflighted)).body).data.me.username).to.equal("owner");
      expect(JSON.parse((await read("cross-site", preflighted)).body).data).to.equal(null);
    });

    it("runs no mutation by GET", async () => {
      const query = encodeURIComponent('mutation { login(input: { email: "a", password: "b" }) { sessionToken } }');
      const answer = await owner().get(`/graphql?query=${query}`, { "Apollo-Require-Preflight": "1" });
      expect(answer).to.include({ status: 405 });
      expect(answer.headers.get("allow")).to.equal("POST");
    });

    it("rejects other methods", async () => {
      for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"]) {
        const answer = await owner().request(method, "/graphql");
        expect(answer, method).to.include({ status: 405 });
        expect(answer.headers.get("allow")).to.equal("GET, HEAD, POST");
        expect(answer.body).to.deep.equal({ message: "Method not allowed." });
      }
    });

    it("rejects what a form of another site could send", async () => {
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
        expect(await ask('{"query":"{ me { id } }"}', { "Content-Type": type }), type).to.include({ status: 415 });
      }
    });

    it("rejects what a page of another site could send without a type, even for a known operation", async () => {
      const query = "{ me { username name } }";
      for (let time = 0; time < 3; time++) expect(await ask({ query })).to.include({ status: 200 });
      const body = new TextEncoder().encode(JSON.stringify({ query }));
      const send = (headers = {}) => fetch(`${w().url}/graphql`, { method: "POST", headers, body });
      expect(await send()).to.include({ status: 400 });
      expect(await send({ "Apollo-Require-Preflight": "1" })).to.include({ status: 200 });
      expect(await send({ "Service-Session-Token": w().owner.token })).to.include({ status: 200 });
    });

    it("says where to run subscriptions", async () => {
      for (let time = 0; time < 3; time++) {
        const { status, message, extensions } = await refusal({ query: "subscription { inboxEvents { __typename } }" });
        expect({ status, code: extensions.code }).to.deep.equal({ status: 400, code: "BAD_USER_INPUT" });
        expect(message).to.match(/WebSocket.*server-sent events/);
      }
    });

    it("rejects batches, bodies that are not JSON, and bodies that are too large", async () => {
      expect(await ask('[{"query":"{ me { id } }"}]')).to.include({ status: 400 });
      expect(await ask('{"query":')).to.include({ status: 400 });
      expect(
        await ask(JSON.stringify({ query: "{ me { id } }", variables: { x: "x".repeat(1024 * 1024) } })),
      ).to.include({ status: 413 });
    });

    it("ends the body of every result with a newline", async () => {
      const headers = { "Service-Session-Token": w().owner.token, "Content-Type": "application/json" };
      const large = Array.from(
        { length: 30 },
        (_, n) => `t${n}: __type(name: "Query") { fields { name description } }`,
      );
      for (const query of ["{ me { email } }", "{ nothing }", "{ me { nothing } }", `{ ${large.join(" ")} }`]) {
        // Parsed, kept, and then run by what was kept.
        for (let time = 0; time < 3; time++) {
          const body = JSON.stringify({ query });
          const text = await (await fetch(`${w().url}/graphql`, { method: "POST", headers, body })).text();
          expect(text, query.slice(0, 40)).to.match(/^\{.*\}\n$/);
        }
      }
    });

    it("forbids caching of responses", async () => {
      const { headers } = await ask({ query: "{ me { id } }" });
      expect(headers.get("cache-control")).to.equal("no-store");
    });
  });

  describe("failures", () => {
    it("are 400 if the document does not parse, does not validate, or names no operation", async () => {
      for (const body of [
        { query: "{ me { id }" },
        { query: "{ nothing }" },
        { query: "query A { me { id } }", operationName: "B" },
        { query: "query A { me { id } } query B { me { id } }" },
        { query: "" },
        {},
      ]) {
        const answer = await ask(body);
        expect(answer, JSON.stringify(body)).to.include({ status: 400 });
        expect(answer.body.errors![0]!.extensions.code).to.equal("BAD_USER_INPUT");
      }
    });

    it("carry the request id and no internals", async () => {
      const answer = await ask({ query: "{ nothing }" });
      expect(answer.body.errors![0]!.extensions).to.deep.equal({
        code: "BAD_USER_INPUT",
        requestId: answer.headers.get("x-request-id"),
      });
      expect(JSON.stringify(answer.body)).to.not.match(/stack|node_modules|Apollo/);
    });

    it("and everything else are the same for a known operation", async () => {
      const query = "query($group: String!) { group(group: $group) { id name } }";
      const two = "query a { me { id } } query b { me { username } }";
      const variables = { group: w().defaultOrganization };
      const requests: Array<Record<string, unknown>> = [
        { query, variables },
        { query, variables, operationName: null, extensions: null },
        { query, variables, operationName: "" },
        { query, variables, operationName: "missing" },
        { query, variables, operationName: 5 },
        { query, variables: { group: 5 } },
        { query, variables: { group: "no-such-group" } },
        { query, variables: null },
        { query, variables: [variables] },
        { query, variables: JSON.stringify(variables) },
        { query, variables, extensions: {} },
        { query, variables, extensions: "none" },
        { query, variables, unheard: true },
        ...[{}, { user: "me" }, { user: null }, { user: 5 }].map((each) => ({
          query: 'query($user: String! = "me") { quietHours(user: $user) { time } }',
          variables: each,
        })),
        ...[{}, { all: true }, { all: false }, { all: null }].map((each) => ({
          query: "query($all: Boolean = true) { me { id username @include(if: $all) } }",
          variables: each,
        })),
        { query: two },
        { query: two, operationName: "b" },
        { query: "mutation { markAllInboxNotificationsRead { __typename } }" },
        { query: "subscription { inboxEvents { __typename } }" },
        { query: `{ groups(first: 1000) { nodes { members(first: 1000) { nodes { user { id } } } } } }` },
      ];
      const accepted = [
        undefined,
        "*/*",
        "application/json",
        "application/graphql-response+json",
        "text/html;q=0.1, */*",
      ];
      for (const [nr, request] of requests.entries()) {
        for (const accept of [...accepted, "text/plain"]) {
          const own = { ...request, query: `# ${nr} ${accept}\n${String(request.query)}` };
          const send = async () => {
            const answer = await fetch(`${w().app.url}/graphql`, {
              method: "POST",
              headers: {
                "Content-Type": "application/json",
                "Service-Session-Token": w().owner.token,
                ...(accept && { Accept: accept }),
              },
              body: JSON.stringify(own),
            });
            const text = (await answer.text()).replaceAll(answer.headers.get("x-request-id")!, "id");
            return { status: answer.status, type: answer.headers.get("content-type"), text };
          };
          const first = await send();
          for (const time of ["second", "third"])
            expect(await send(), `${JSON.stringify(own)}, the ${time} time`).to.deep.equal(first);
        }
      }
    });

    it("are 200 once an operation runs", async () => {
      const nobody = await w().nobody.post("/graphql", { query: "{ me { id } }" });
      expect(nobody).to.include({ status: 200 });
      expect(nobody.body.errors[0].extensions).to.include({ code: "UNAUTHENTICATED" });
      const missing = await ask({ query: '{ group(group: "no-such-group") { id } }' });
      expect(missing).to.include({ status: 200 });
      expect(missing.body.data).to.deep.equal({ group: null });
      const [{ message, extensions }] = missing.body.errors as [Required<GraphqlAnswer["body"]>["errors"][number]];
      expect(message).to.equal("Resource not found or you do not have access to it.");
      expect(extensions.code).to.equal("NOT_FOUND");
    });

    it("are 401 for an invalid credential, whatever the operation", async () => {
      const answer = await w().as({ token: "nonsense" }).post("/graphql", { query: "{ serverInfo { version } }" });
      expect(answer).to.include({ status: 401 });
      expect(answer.headers.get("www-authenticate")).to.match(
        /^Bearer realm="steward", resource_metadata=".*\/oauth-protected-resource", error="invalid_token", error_description="The token is malformed\."$/,
      );
      expect(answer.body.errors[0].extensions.code).to.equal("UNAUTHENTICATED");
    });

    it("name every faulty variable, by its place in the arguments", async () => {
      const { status, extensions } = await refusal({
        query: "mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }",
        variables: {
          input: { group: "x", name: 5, quotaAllowance: "7", addUsers: [w().owner.id, "x", 3], color: "red" },
        },
      });
      expect(status).to.equal(400);
      expect(extensions.code).to.equal("BAD_USER_INPUT");
      expect(extensions.validations!.map(({ field }) => field)).to.have.members([
        "input.name",
        "input.quotaAllowance",
        "input.addUsers[1]",
        "input.addUsers[2]",
        "input.color",
      ]);
    });

    it("name variables within list and object literals by their place in the arguments", async () => {
      const { extensions } = await refusal({
        query: `mutation($user: UUID!, $quota: Int) {
          updateGroup(input: { group: "x", quotaAllowance: $quota, addUsers: [$user] }) { group { id } }
        }`,
        variables: { user: "x", quota: "7" },
      });
      expect(extensions.validations).to.deep.equal([
        { field: "input.addUsers[0]", detail: "Must be a UUID." },
        { field: "input.quotaAllowance", detail: extensions.validations![1]!.detail },
      ]);
    });

    it("report the credential and its scopes before the variables", async () => {
      const { createApiKey } = await w()
        .as(w().owner)
        .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["user:read"] }) { token } }`);
      const query = "query($group: String!) { group(group: $group) { id } }";
      for (const [client, code] of [
        [w().nobody, "UNAUTHENTICATED"],
        [w().as({ token: createApiKey.token }), "FORBIDDEN"],
      ] as const) {
        const answers = [{ group: 5 }, { group: w().defaultOrganization }].map((variables) =>
          client.post("/graphql", { query, variables }),
        );
        for (const { status, body } of await Promise.all(answers)) {
          expect({ status, data: body.data }).to.deep.equal({ status: 200, data: null });
          expect(body.errors[0].extensions).to.include({ code }).and.not.have.property("validations");
        }
      }
    });

    it("name every field that breaks a rule, spelled as in GraphQL", async () => {
      const group = await w().group();
      const { status, extensions } = await refusal({
        query: "mutation($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }",
        variables: { input: { group: group.id, name: "-", displayName: " x", quotaAllowance: -1 } },
      });
      expect(status).to.equal(200);
      expect(extensions.validations!.map(({ field }) => field)).to.deep.equal([
        "input.name",
        "input.displayName",
        "input.quotaAllowance",
      ]);
    });

    it("do not occur for one value in place of a list, as GraphQL allows", async () => {
      const query = "query($ids: [UUID!]) { groups(filter: { ids: $ids }) { nodes { id } } }";
      const answer = await ask({ query, variables: { ids: w().defaultOrganization } });
      expect(answer.body).to.deep.equal({ data: { groups: { nodes: [{ id: w().defaultOrganization }] } } });
    });

    it("reject variables named like a member of every object, whose value they would get", async () => {
      for (const name of ["toString", "valueOf", "constructor", "__proto__"])
        for (const query of [
          `query($${name}: Int = 1) { groups(first: $${name}) { totalCount } }`,
          `query($${name}: [UUID!]) { groups(filter: { ids: $${name} }) { totalCount } }`,
        ]) {
          const { status, body } = await ask({ query });
          expect([status, body.errors?.[0]?.message], query).to.deep.equal([
            400,
            `Variable "$${name}" must have another name.`,
          ]);
        }
    });

    it("require only what the selected operation needs", async () => {
      const query = "query Open { serverInfo { version } } query Closed { me { id } }";
      expect((await w().nobody.post("/graphql", { query, operationName: "Open" })).body).to.not.have.property("errors");
      expect((await w().nobody.post("/graphql", { query, operationName: "Closed" })).body).to.have.property("errors");
    });
  });

  describe("limits", () => {
    const refused = async (query: string, message: RegExp, variables = {}) => {
      const { status, extensions, message: said } = await refusal({ query, variables });
      expect(status).to.equal(400);
      expect(extensions.code).to.equal("BAD_USER_INPUT");
      expect(said).to.match(message);
    };
    const accepted = async (query: string, variables = {}) =>
      expect((await ask({ query, variables })).body, query.slice(0, 200)).to.not.have.property("errors");

    it("of depth: 12 levels", async () => {
      const nested = (pairs: number) => `query($id: String!) {
        group(group: $id) ${"{ aiBudget { group ".repeat(pairs)} { id } ${"} }".repeat(pairs)} }`;
      await accepted(nested(5), { id: w().defaultOrganization });
      await refused(nested(6), /deeper than 12 levels/, { id: w().defaultOrganization });
    });

    it("of aliases: 100", async () => {
      const aliases = (count: number) => `{ ${Array.from({ length: count }, (_, n) => `a${n}: me { id }`).join(" ")} }`;
      await accepted(aliases(100));
      await refused(aliases(101), /more than 100 aliases/);
    });

    it("of cost: 50000 objects, with page sizes written out, in variables, or in their defaults", async () => {
      const pages = (first: string) =>
        `groups(first: ${first}) { nodes { members(first: ${first}) { nodes { addedAt } } } }`;
      await accepted(`{ ${pages("100")} }`);
      await accepted("{ groups { nodes { members { nodes { user { id } } } } } }");
      await refused(`{ ${pages("1000")} }`, /more than 50000 objects/);
      await refused(`query($n: Int) { ${pages("$n")} }`, /more than 50000 objects/, { n: 1000 });
      await refused(`query($n: Int = 1000) { ${pages("$n")} }`, /more than 50000 objects/);
      await refused(`{ ...F } fragment F on Query { ${pages("1000")} }`, /more than 50000 objects/);
      // Known documents: their variables count all the same.
      const known = `query($n: Int) { ${pages("$n")} }`;
      for (let time = 0; time < 4; time++) await accepted(known, { n: 10 });
      await refused(known, /more than 50000 objects/, { n: 1000 });
    });

    it("of cost: a complete list counts as 1000 objects, all members of one group as 10000", async () => {
      const members = "members(complete: true) { nodes { addedAt } }";
      const alone = (times: number) =>
        Array.from(
          { length: times },
          (_, n) => `g${n}: groupByName(organization: "default", name: "Everyone") { ${members} }`,
        );
      await accepted("{ groups(complete: true) { nodes { organization { id } } } }");
      await accepted(`{ ${alone(4).join(" ")} }`);
      await refused(`{ ${alone(5).join(" ")} }`, /more than 50000 objects/);
      await refused(`{ groups(complete: true) { nodes { ${members} } } }`, /more than 50000 objects/);
      const all = "groups(complete: $all) { nodes { members(first: 100) { nodes { addedAt } } } }";
      await accepted(`query($all: Boolean) { ${all} }`, { all: false });
      await refused(`query($all: Boolean) { ${all} }`, /more than 50000 objects/, { all: true });
      await refused(`query($all: Boolean = true) { ${all} }`, /more than 50000 objects/);
      await refused(
        `{ groups(first: 1, complete: true) { nodes { members(first: 100) { nodes { addedAt } } } } }`,
        /more than 50000/,
      );
    });

    it("of size: 64 KiB", async () => {
      await accepted(`{ me { id } } #${"x".repeat(64 * 1024 - 15)}`);
      await refused(`{ me { id } } #${"x".repeat(64 * 1024)}`, /larger than 65536 bytes/);
    });

    it("of mutations: one in a document", async () => {
      const send = 'sendCustomNotification(input: { content: { title: "x" } }) { __typename }';
      await refused(`mutation { a: ${send} b: ${send} }`, /One mutation per document: each is one transaction/);
      await accepted(`mutation { a: ${send} __typename }`);
    });

    it("of fragments that spread fragments, and of fields that repeat", async () => {
      const bombs = Array.from({ length: 30 }, (_, n) => `fragment F${n} on User { ...F${n + 1} ...F${n + 1} }`);
      await refused(
        `{ me { ...F0 } } ${bombs.join(" ")} fragment F30 on User { id }`,
        /selects more than 10000 fields/,
      );
      // A request that took seconds would be ended by the time limit.
      for (const text of [`{ ${"me{id}".repeat(2400)} }`, `{ me { ${"id ".repeat(9000)} } }`])
        expect(JSON.stringify((await ask({ query: text })).body)).to.not.contain("UNAVAILABLE");
    });

    it("allow introspection, and keep it from growing", async () => {
      await accepted(getIntrospectionQuery());
      const types = "types { fields { type { fields { type { name } } } } }";
      await refused(
        `{ __schema { ${Array.from({ length: 100 }, (_, n) => `t${n}: ${types}`).join(" ")} } }`,
        /more than 50000 objects/,
      );
    });
  });

  it("hides the schema if so configured", async () => {
    const app = await startServer(w().database.url, { STEWARD_GRAPHQL_INTROSPECTION: "false" });
    try {
      const hidden = new Client(app.url, w().owner.token);
      expect(await hidden.post("/graphql", { query: "{ __schema { types { name } } }" })).to.include({ status: 400 });
      expect((await hidden.post("/graphql", { query: "{ __typename }" })).body).to.deep.equal({
        data: { __typename: "Query" },
      });
    } finally {
      await app.close();
    }
  });
});
