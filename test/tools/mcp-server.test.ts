// Real MCP clients do whole jobs at /mcp: they sign in, find, create, read, stop, and delete.
// Looks inside: builds end as their daemons do, without a daemon, which would take a second each.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type OAuthClientProvider as Version2Provider } from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { boxOf, doBuild, readBox, templateOf } from "../support/builds.js";
import { type Anything, type Person, world } from "../support/world.js";
import { ClientState } from "./mcp-client-state.js";
import { filesIn, Project, root } from "./project.js";
import { Site, Visitor } from "./visitors.js";

interface Assistant {
  call(name: string, given?: object): Promise<Anything>;
  signedIn<Result>(work: (client: Anything) => Promise<Result>): Promise<Result>;
}

describe("a program at the MCP server", () => {
  const w = world();
  let browser: Browser;
  let site: Site;
  let ada: Person;
  let visitor: Visitor;
  let project: Project;
  before(async () => {
    [browser, site] = await Promise.all([launchBrowser(), Site.open()]);
    project = new Project(filesIn(readFileSync(join(root, "docs/mcp-server.md"), "utf8")));
  });
  after(async () => {
    project.remove();
    await Promise.all([browser.close(), site.close()]);
  });
  beforeEach(async () => {
    ada = await w().user("ada");
    visitor = await Visitor.open(browser, ada);
  });
  afterEach(() => visitor.close());
  const url = () => new URL("/mcp", w().app.services.config.accessUrl);
  const consentTo = ({ opened }: ClientState): Promise<URL> => visitor.decide(opened!);

  it("of docs/mcp-server.md compiles strictly", async () => {
    expect(await project.compile({ types: ["node"] })).to.equal("");
  });

  it("of docs/mcp-server.md does a whole job, with wider consent when a tool needs it", async () => {
    const storage = new ClientState(`${site.url}/callback`);
    const questions: string[] = [];
    let consents = 0;
    let agrees = false;
    const { Assistant: Made } = (await project.load("src/assistant.ts")) as {
      Assistant: new (
        url: URL,
        provider: Version2Provider,
        consent: () => Promise<URL>,
        confirm: (question: string) => Promise<boolean>,
      ) => Assistant;
    };
    const assistant = new Made(
      url(),
      storage,
      () => {
        consents++;
        return consentTo(storage);
      },
      async (question) => {
        questions.push(question);
        return agrees;
      },
    );

    const me = await assistant.call("who_am_i");
    expect(me.username).to.equal(ada.username);
    expect(visitor.shown).to.include("Registered itself, not verified").and.include(url().href);
    expect(visitor.shown).to.include("Create workspaces in your name.");
    expect(visitor.shown).to.not.include("Delete your workspaces.");
    expect(storage.tokens()!.scope).to.include("workspace:create");
    expect(storage.tokens()!.scope).to.not.match(/delete|ssh|\*/);
    const revision = await assistant.signedIn(async (client) => client.getNegotiatedProtocolVersion() as string);
    expect(revision).to.equal("2026-07-28");

    const template = await templateOf(w(), boxOf());
    const { templates } = await assistant.call("find_templates", { search: template.name });
    expect(templates[0].id).to.equal(template.id);
    const made = await assistant.call("create_workspace", { name: "job", template_id: template.id });
    const waiting = assistant.call("wait_for_workspace", { workspace_id: made.id });
    await doBuild(w(), made.latest_build.id);
    expect((await waiting).status).to.equal("running");
    const log = await assistant.call("read_build_log", { workspace_build_id: made.latest_build.id });
    expect(log.lines).to.be.an("array");
    const stopping = await assistant.call("stop_workspace", { workspace: made.id });
    await doBuild(w(), stopping.latest_build.id);
    expect((await readBox(w(), ada, made.id)).status).to.equal("STOPPED");

    const declined = await assistant.call("delete_workspace", { workspace: made.id }).catch((error: Error) => error);
    expect(String(declined)).to.match(/did not agree/);
    expect(visitor.shown).to.include("Delete your workspaces.");
    agrees = true;
    await assistant.call("delete_workspace", { workspace: made.id });
    expect(questions).to.deep.equal(
      Array.from({ length: 2 }, () => `Delete workspace: job of ${ada.username}? It cannot be undone.`),
    );
    expect(consents).to.equal(2);
  });

  it("of version 1 of the SDK signs in, calls tools, and reads resources", async () => {
    const storage = new ClientState(`${site.url}/callback`);
    const first = new StreamableHTTPClientTransport(url(), { authProvider: storage });
    const failure = await new Client({ name: "assistant", version: "1.0.0" })
      .connect(first)
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(UnauthorizedError);
    await first.finishAuth((await consentTo(storage)).searchParams.get("code")!);
    const client = new Client({ name: "assistant", version: "1.0.0" });
    const transport = new StreamableHTTPClientTransport(url(), { authProvider: storage });
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.length).to.be.above(30);
    const template = await templateOf(w(), boxOf());
    // The client checks results by the schemas that the server has listed.
    for (const [name, given] of [
      ["who_am_i", {}],
      ["search", { text: template.name }],
      ["find_workspaces", {}],
      ["find_tasks", {}],
      ["read_inbox", {}],
      ["read_quota", {}],
      ["list_organizations", {}],
      ["find_groups", {}],
      ["read_template", { template_id: template.id }],
    ] as const) {
      const { isError, structuredContent } = await client.callTool({ name, arguments: given });
      expect(isError, name).to.equal(undefined);
      expect(structuredContent, name).to.have.keys("result", "written_by_others");
    }
    const { resources } = await client.listResources();
    const found = resources.find(({ name }) => name === template.name)!;
    const { contents } = await client.readResource({ uri: found.uri });
    expect(JSON.parse((contents[0] as { text: string }).text).result.id).to.equal(template.id);
    // It refreshes its token instead of asking its user again.
    const deletion = client.callTool({ name: "delete_workspace", arguments: { workspace: template.id } });
    expect(String(await deletion.catch((error: unknown) => error))).to.match(/403/);
    await client.close();
  });
});
