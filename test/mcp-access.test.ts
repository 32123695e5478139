// Who may use the MCP server: tokens, their audience and scopes, consent, deletions, and floods.
// Reaches for tables: no test waits until a name of a deleted task is free.
import { expect } from "chai";
import { boxOf, readBox, runningBox, templateOf } from "./support/builds.js";
import { callTool, listen, program, reading, resultOf, send } from "./support/mcp.js";
import {
  authorizePath,
  challenge,
  credentials,
  grantsOf,
  insertClient,
  makeClient,
  selfRegistered,
  sendForm,
  verifier,
} from "./support/oauth2.js";
import { setColumns } from "./support/tables.js";
import { type TaskStage, withTasks } from "./support/tasks.js";
import { eventually } from "./support/watchers.js";
import { Client, type Person, type World, world } from "./support/world.js";

const asking = { elicitation: { form: {} } };

describe("access to the MCP server", () => {
  const the = world();
  let w: World;
  let ada: Person;
  let eve: Person;
  let token: string;
  before(async () => {
    w = the();
    [ada, eve] = (await w.users("ada", "eve")) as [Person, Person];
    ({ token } = await program(w, ada));
  });
  const home = () => w.app.services.config.accessUrl;
  const statusWith = async (credential: string | undefined, headers = {}) =>
    (await callTool(w, credential, "who_am_i", {}, { headers })).status;

  it("needs a credential, and says where to get one", async () => {
    const { status, headers } = await send(w, undefined, { method: "tools/list" });
    expect(status).to.equal(401);
    const metadata = `${home()}/.well-known/oauth-protected-resource/mcp`;
    const challenged = headers.get("www-authenticate")!;
    expect(challenged).to.include(`resource_metadata="${metadata}"`).and.include('scope="group:read');
    expect(challenged).to.not.include("error=");
    const { status: found, body } = await w.nobody.get("/.well-known/oauth-protected-resource/mcp");
    expect(found).to.equal(200);
    expect(body).to.deep.include({ resource: `${home()}/mcp`, authorization_servers: [home()] });
    expect(body.scopes_supported).to.include.members([...reading, "workspace:create", "task:create"]);
    expect(body.scopes_supported.filter((scope: string) => /delete|ssh|audit|\*/.test(scope))).to.deep.equal([]);
    const wrong = await send(w, `${token}x`, { method: "tools/list" });
    expect(wrong.status).to.equal(401);
    expect(wrong.headers.get("www-authenticate")).to.include('error="invalid_token"').and.include(metadata);
  });

  it("takes tokens of users in one header: no cookies, no sessions of browsers, no machines", async () => {
    const { token: api } = await w.scoped(ada, ...reading);
    expect(await statusWith(api)).to.equal(200);
    expect(await statusWith(ada.token)).to.equal(200);
    expect(await statusWith(undefined, { Cookie: `service_session_token=${ada.token}` })).to.equal(401);
    expect(await statusWith(undefined, { "Service-Session-Token": ada.token })).to.equal(401);
    const { agent } = await w.workspace(ada);
    expect(await statusWith(agent.token)).to.equal(403);
    expect(await statusWith("stwi_0000000000_x")).to.equal(401);
  });

  it("is for tokens of the server or of itself, which are good for nothing else", async () => {
    for (const [audience, status] of [
      ["", 200],
      ["/mcp", 200],
      ["/api/v2", 401],
      ["/graphql", 401],
      ["/mcpx", 401],
    ] as const)
      expect(await statusWith((await program(w, ada, reading, audience)).token), audience).to.equal(status);
    const rest = await fetch(`${w.url}/api/v2/groups`, { headers: { Authorization: `Bearer ${token}` } });
    expect(rest.status).to.equal(401);
    const graphql = await fetch(`${w.url}/graphql`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ query: "{ me { id } }" }),
    });
    expect(graphql.status).to.equal(401);
    expect((await fetch(`${w.url}/mcp`, { headers: { Authorization: `Bearer ${token}` } })).status).to.equal(405);
  });

  it("is open to pages of any origin, with tokens", async () => {
    const headers = { Origin: "https://inspector.example", "Access-Control-Request-Method": "POST" };
    const { status, headers: sent } = await fetch(`${w.url}/mcp`, { method: "OPTIONS", headers });
    expect(status).to.equal(204);
    expect(sent.get("access-control-allow-origin")).to.equal("*");
    expect(sent.get("access-control-allow-credentials")).to.equal(null);
  });

  it("asks for the scopes of a tool where they are missing, beside those that are held", async () => {
    for (const revision of ["2026-07-28", "2025-11-25"] as const) {
      const given = { workspace: "me/none" };
      const { status, headers } = await callTool(w, token, "stop_workspace", given, { revision });
      expect(status).to.equal(403);
      const challenged = headers.get("www-authenticate")!;
      expect(challenged).to.include('error="insufficient_scope"').and.include("oauth-protected-resource/mcp");
      expect(/scope="([^"]+)"/.exec(challenged)![1]!.split(" ")).to.have.members([...reading, "workspace:stop"]);
    }
  });

  it("has no tool that works without its scopes, or asks for others once it has them", async () => {
    const { mcpServer } = await w.as(w.owner).graphql("{ mcpServer { tools { name } } }");
    const none = await program(w, ada, []);
    for (const { name } of mcpServer.tools as Array<{ name: string }>) {
      if (name === "search") continue;
      const { status, headers } = await callTool(w, none.token, name);
      expect(status, name).to.equal(403);
      const scopes = /scope="([^"]+)"/.exec(headers.get("www-authenticate")!)![1]!.split(" ");
      const some = await program(w, ada, scopes);
      expect((await callTool(w, some.token, name)).status, name).to.equal(200);
    }
    // It finds what the scopes of the token read: nothing of other kinds.
    const text = ada.username;
    const found = async (by: string) => (await resultOf(w, by, "search", { text })) as Record<string, unknown[]>;
    expect(JSON.stringify(await found(none.token))).to.not.include(text);
    expect(JSON.stringify(await found((await program(w, ada, ["user:read"])).token))).to.include(text);
  });

  describe("consent", () => {
    const ask = async (client: { id: string }, more: Record<string, string> = {}, by = ada) => {
      const pkce = { code_challenge: challenge, code_challenge_method: "S256" };
      const path = authorizePath(client, { ...pkce, resource: `${home()}/mcp`, scope: undefined as never, ...more });
      const { headers } = await w.as(by).post(path);
      return new URL(headers.get("location")!).searchParams;
    };
    const scopesOf = async (client: { id: string }) => (await grantsOf(w, client)).at(-1)!.scopes;

    it("gives programs that name no scopes neither deletion nor a way into workspaces", async () => {
      const client = await insertClient(w, {
        ...selfRegistered,
        scope_ceiling: ["user:read", "workspace:*", "task:*"],
      });
      expect((await ask(client)).get("code")).to.be.a("string");
      const scopes = await scopesOf(client);
      expect(scopes).to.include.members(["workspace:start", "workspace:create", "task:create", "user:read"]);
      expect(scopes.filter((scope: string) => /delete|ssh|\*|all/.test(scope))).to.deep.equal([]);
    });

    it("lets them ask for what tools need, for this server only", async () => {
      const client = await insertClient(w, { ...selfRegistered, scope_ceiling: ["user:read"] });
      const scope = "audit_log:read inbox_notification:read workspace:delete license:read";
      const code = (await ask(client, { scope })).get("code")!;
      expect(await scopesOf(client)).to.have.members(["audit_log:read", "inbox_notification:read", "workspace:delete"]);
      const form = { grant_type: "authorization_code", client_id: client.id, code, code_verifier: verifier };
      const { status, body } = await sendForm(w, "tokens", form);
      expect(status).to.equal(200);
      const again = { grant_type: "refresh_token", client_id: client.id, refresh_token: body.refresh_token };
      const refreshed = await sendForm(w, "tokens", again);
      expect(refreshed.status).to.equal(200);
      const wider = { ...again, refresh_token: refreshed.body.refresh_token, resource: `${home()}/api/v2` };
      expect((await sendForm(w, "tokens", wider)).body.error).to.equal("invalid_target");
      const elsewhere = await w
        .as(ada)
        .post(
          authorizePath(client, { code_challenge: challenge, code_challenge_method: "S256", scope: "audit_log:read" }),
        );
      expect(new URL(elsewhere.headers.get("location")!).searchParams.get("error")).to.equal("invalid_scope");
    });

    it("leaves what owners decided about an application that one of them made", async () => {
      const client = await makeClient(w, { scope_ceiling: ["user:read"] });
      expect((await ask(client, { scope: "audit_log:read" })).get("error")).to.equal("invalid_scope");
      expect(credentials(client)).to.include({ client_id: client.id });
    });
  });

  it("is shown to administrators by the programs that have it, to no one else", async () => {
    const list = "{ mcpPrograms { id name kind userCount lastUsedAt } }";
    const { clientId, grantId } = await program(w, ada);
    await program(w, ada, reading, "/api/v2");
    const programs = async () =>
      (await w.as(w.owner).graphql(list)).mcpPrograms as Array<{ id: string; kind: string; userCount: number }>;
    const found = (await programs()).find(({ id }) => id === clientId);
    expect(found).to.include({ kind: "DYNAMIC", userCount: 1 });
    const end = "mutation($id: UUID!) { revokeOAuth2Grant(input: { id: $id }) { __typename } }";
    await w.as(ada).graphql(end, { id: grantId });
    expect((await programs()).map(({ id }) => id)).to.not.include(clientId);
    expect(
      JSON.stringify(
        await w
          .as(ada)
          .graphql(list)
          .catch((error: Error) => error),
      ),
    ).to.include("FORBIDDEN");
  });

  describe("deletions", () => {
    const deleting = [...reading, "workspace:delete"];
    let box: { id: string; name: string };
    let templateId: string;
    before(async () => (templateId = (await templateOf(w, boxOf())).id));
    let boxes = 0;
    const newBox = async () => (await runningBox(w, ada, templateId, { name: `deleted-${++boxes}` })).workspace;
    beforeEach(async () => void (box = await newBox()));
    const remove = (by: string, more: object = {}, given: object = { workspace: box.id }) =>
      callTool(w, by, "delete_workspace", given, more);
    const isThere = async () => (await readBox(w, ada, box.id)).status === "RUNNING";
    const agree = { inputResponses: { decision: { action: "accept", content: { delete: true } } } };

    it("ask the user, naming what would be deleted", async () => {
      const { token: by } = await program(w, ada, deleting);
      const { result } = await remove(by, { capabilities: asking });
      expect(result.resultType).to.equal("input_required");
      const { params } = result.inputRequests.decision;
      expect(params.message).to.equal(`Delete workspace: ${box.name} of ${ada.username}? It cannot be undone.`);
      expect(await isThere()).to.equal(true);
      const params2 = { ...agree, requestState: result.requestState };
      const done = await remove(by, { capabilities: asking, params: params2 });
      expect(done.result.isError, JSON.stringify(done.result)).to.equal(undefined);
      expect(await isThere()).to.equal(false);
    });

    it("delete nothing if the user declines, or if the agreement is about something else", async () => {
      const { token: by } = await program(w, ada, deleting);
      const other = await newBox();
      const capabilities = asking;
      const { result } = await remove(by, { capabilities });
      const { requestState } = result;
      const declined = { inputResponses: { decision: { action: "decline" } }, requestState };
      expect((await remove(by, { capabilities, params: declined })).result.content[0].text).to.match(/did not agree/);
      const refused = { inputResponses: { decision: { action: "accept", content: { delete: false } } }, requestState };
      expect((await remove(by, { capabilities, params: refused })).result.content[0].text).to.match(/did not agree/);
      // Another object, no state, a forged one, and another program of the user: asked again.
      const elsewhere = await remove(by, { capabilities, params: { ...agree, requestState } }, { workspace: other.id });
      expect(elsewhere.result.resultType).to.equal("input_required");
      expect((await remove(by, { capabilities, params: agree })).result.resultType).to.equal("input_required");
      const forged = { ...agree, requestState: `${String(requestState).split(".")[0]}.AAAA` };
      expect((await remove(by, { capabilities, params: forged })).result.resultType).to.equal("input_required");
      const stranger = await program(w, ada, deleting);
      const borrowed = await remove(stranger.token, { capabilities, params: { ...agree, requestState } });
      expect(borrowed.result.resultType).to.equal("input_required");
      expect(await isThere()).to.equal(true);
    });

    it("are for programs that cannot ask only with the scope by its name", async () => {
      const wide = await program(w, ada, [...reading, "workspace:*"]);
      for (const revision of ["2026-07-28", "2025-11-25"] as const) {
        const { status, headers } = await remove(wide.token, { revision });
        expect(status).to.equal(403);
        expect(headers.get("www-authenticate")).to.include("workspace:delete");
      }
      expect((await remove(ada.token)).status).to.equal(403);
      // Earlier revisions declare abilities by a handshake, which no request can stand in for.
      const declared = { _meta: { "io.modelcontextprotocol/clientCapabilities": asking } };
      await remove(wide.token, { revision: "2025-11-25", params: declared });
      await remove(wide.token, { revision: "2025-11-25", params: { ...declared, ...agree } });
      expect(await isThere()).to.equal(true);
      const { token: by } = await program(w, ada, deleting);
      const { result } = await remove(by, { revision: "2025-11-25" });
      expect(result.isError, JSON.stringify(result)).to.equal(undefined);
      expect(await isThere()).to.equal(false);
    });

    it("do not disclose what the caller may not read", async () => {
      const { token: by } = await program(w, eve, deleting);
      const { result } = await remove(by, { capabilities: asking });
      expect(result.content[0].text).to.match(/not found or you do not have access/);
    });

    describe("of tasks", () => {
      let stage: TaskStage;
      withTasks(the, (opened) => ({ stage } = opened));

      it("ask again if the name is that of another one by now", async () => {
        const { token: by } = await program(w, ada, [...reading, "task:delete"]);
        const [one, other] = [await stage.create(ada, { name: "chore" }), await stage.create(ada, { name: "other" })];
        const ask = (params = {}) =>
          callTool(w, by, "delete_task", { task: "chore" }, { capabilities: asking, params });
        const { result } = await ask();
        expect(result.resultType, JSON.stringify(result)).to.equal("input_required");
        await setColumns(w, "tasks", { id: one.id }, { name: "former" });
        await setColumns(w, "tasks", { id: other.id }, { name: "chore" });
        const agreed = await ask({ ...agree, requestState: result.requestState });
        expect(agreed.result.resultType, JSON.stringify(agreed.result)).to.equal("input_required");
      });
    });

    it("are told on the consent page by name, beside a scope that includes them", async () => {
      const client = await insertClient(w, { ...selfRegistered, scope_ceiling: ["all"] });
      const input = {
        clientId: client.id,
        responseType: "code",
        codeChallenge: challenge,
        codeChallengeMethod: "S256",
        resource: [`${home()}/mcp`],
        scope: "workspace:* workspace:delete",
      };
      const { oauth2AuthorizationRequest: shown } = await w
        .as(ada)
        .graphql(
          "query($input: OAuth2AuthorizationRequestInput!) { oauth2AuthorizationRequest(input: $input) { scopes { name } } }",
          { input },
        );
      const names = shown.scopes.map(({ name }: { name: string }) => name);
      expect(names).to.deep.equal(["workspace:*", "workspace:delete"]);
    });
  });

  describe("hostile requests", () => {
    const post = (body: string, headers: Record<string, string> = {}) =>
      fetch(`${w.url}/mcp`, {
        method: "POST",
        body,
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          ...headers,
        },
      });

    it("never get a 5xx", async () => {
      const call = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "find_people", arguments: { search: "\0" } },
      };
      const bodies = [
        "",
        "null",
        "[]",
        "{",
        `[${JSON.stringify(call)},${JSON.stringify(call)}]`,
        "{}",
        '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","id":{},"method":"tools/call"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[1]}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"__proto__":{"text":"x"}}}}',
        '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"steward://templates/%00"}}',
        '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"not a uri"}}',
        '{"jsonrpc":"2.0","id":1,"method":"no/method"}',
        JSON.stringify(call),
        `{"a":${"[".repeat(100)}${"]".repeat(100)}}`,
        `"${"x".repeat(2_000_000)}"`,
      ];
      for (const body of bodies) {
        const response = await post(body);
        expect(response.status, body.slice(0, 100)).to.be.below(500);
        await response.text();
      }
      expect((await post("{}", { "Content-Type": "text/plain" })).status).to.equal(415);
      expect((await post(JSON.stringify(call), { "MCP-Protocol-Version": "x\u00ff" })).status).to.be.below(500);
      expect((await post("x".repeat(100_000), { Authorization: "" })).status).to.equal(401);
    });

    it("by one program cannot end or use what another one has begun", async () => {
      // There are no sessions: a name of one that a program makes up has no effect.
      const headers = { "Mcp-Session-Id": "11111111-1111-4111-8111-111111111111", "Last-Event-ID": "1" };
      const other = await program(w, eve);
      const mine = (await callTool(w, token, "who_am_i", {}, { headers })).result.structuredContent.result.id;
      const theirs = (await callTool(w, other.token, "who_am_i", {}, { headers })).result.structuredContent.result.id;
      expect([mine, theirs]).to.deep.equal([ada.id, eve.id]);
      const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
      expect((await post(JSON.stringify(cancel))).status).to.be.below(300);
    });

    it("do not reach the token, which no handler gets", async () => {
      const { messages } = await callTool(w, token, "who_am_i");
      expect(JSON.stringify(messages)).to.not.include(token);
    });
  });
});

describe("a flood of requests to the MCP server", () => {
  const the = world({ STEWARD_SOCKETS_PER_USER: "2", STEWARD_RATE_LIMIT_API: "60" });

  it("has few subscriptions of each user, with whatever programs", async () => {
    const w = the();
    const [mia, max] = (await w.users("mia", "max")) as [Person, Person];
    const leaving = new AbortController();
    const begin = async (person: Person) =>
      listen(w, (await program(w, person)).token, { toolsListChanged: true }, leaving.signal);
    const begun = [await begin(mia), await begin(mia), await begin(mia), await begin(max)];
    const ended = Promise.allSettled(begun.map(({ messages }) => messages));
    expect(begun.map(({ status }) => status)).to.deep.equal([200, 200, 429, 200]);
    leaving.abort();
    await ended;
    await eventually(async () => (await callTool(w, (await program(w, mia)).token, "who_am_i")).status === 200, "room");
  });

  it("is limited for each user: waits by number, requests by rate", async () => {
    const w = the();
    const [ada, eve] = (await w.users("ada", "eve")) as [Person, Person];
    const { token } = await program(w, ada);
    const { id } = await w.workspace(ada);
    const build = await templateOf(w, boxOf());
    const made = await new Client(w.url, ada.token).graphql(
      "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }",
      { input: { templateId: build.id, name: "pending" } },
    );
    const leaving = new AbortController();
    let rejected = 0;
    const given = { workspace_id: made.createWorkspace.workspace.id, timeout_seconds: 300 };
    const { promise: isFull, resolve } = Promise.withResolvers<void>();
    const waits = Array.from({ length: 5 }, async () => {
      const { status } = await callTool(w, token, "wait_for_workspace", given, { signal: leaving.signal });
      if (status === 429 && ++rejected === 3) resolve();
      return status;
    });
    const ended = Promise.allSettled(waits);
    await isFull;
    // A program that leaves makes room for others.
    leaving.abort();
    expect((await ended).filter(({ status }) => status === "rejected")).to.have.length(2);
    await eventually(async () => (await callTool(w, token, "who_am_i")).status === 200, "There is room again");
    expect((await resultOf(w, token, "read_workspace", { workspace_id: id })).id).to.equal(id);
    const flood = await Promise.all(Array.from({ length: 70 }, () => callTool(w, token, "who_am_i")));
    const limited = flood.find(({ status, headers }) => status === 429 && headers.has("ratelimit-policy"));
    expect(limited?.headers.get("retry-after")).to.match(/^\d+$/);
    const other = await program(w, eve);
    expect((await callTool(w, other.token, "who_am_i")).status).to.equal(200);
  });
});
