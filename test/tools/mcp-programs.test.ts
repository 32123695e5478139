// Programs that people have today at /mcp: mcp-remote, and the command line of the MCP Inspector. Both sign in by themselves: they find
// the authorization server, register, and wait for the browser.
// Looks inside: builds end as their daemons do, without a daemon, which would take a second each.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { expect } from "chai";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../support/browser.js";
import { boxOf, doBuild, readBox, templateOf } from "../support/builds.js";
import { freePort } from "../support/ports.js";
import { type Anything, type Person, world } from "../support/world.js";
import { Visitor } from "./visitors.js";

const program = (name: string) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url));

/** The page that a program tells its user to open, from what it prints. */
function pageIn(output: Readable): Promise<URL> {
  return new Promise((resolve, reject) => {
    let printed = "";
    output.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const [url] = /https?:\/\/\S*oauth2\/authorize\?\S+(?=\s)/.exec(printed) ?? [];
      if (url) resolve(new URL(url));
    });
    output.on("end", () => reject(new Error(`It ended without a page: ${printed}`)));
  });
}

describe("a program of others at the MCP server", () => {
  const w = world();
  let browser: Browser;
  let ada: Person;
  let visitor: Visitor;
  let home: string;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());
  beforeEach(async () => {
    ada = await w().user("ada");
    visitor = await Visitor.open(browser, ada);
    home = await mkdtemp(join(tmpdir(), "mcp-"));
  });
  afterEach(async () => {
    await visitor.close();
    await rm(home, { recursive: true });
  });
  const url = () => `${w().app.services.config.accessUrl}/mcp`;
  /** Nothing of the home directory. The browser of the test is the one that opens pages. */
  const environment = () => ({
    PATH: "/usr/bin:/bin",
    HOME: home,
    BROWSER: "true",
    NO_COLOR: "1",
    MCP_AUTO_OPEN_ENABLED: "true",
    MCP_INSPECTOR_SECRET_STORE: "file",
  });

  /** Checks that a page belongs to a client that registered itself, uses PKCE, and names the MCP server. */
  function requireSafe(page: URL, redirectUri: RegExp): void {
    const given = Object.fromEntries(page.searchParams);
    expect(given).to.include({ response_type: "code", code_challenge_method: "S256", resource: url() });
    expect(given["code_challenge"]).to.match(/^[\w-]{43}$/);
    expect(given["state"]).to.match(/./);
    expect(given["redirect_uri"]).to.match(redirectUri);
  }

  it("does a whole job through mcp-remote, which registers itself and keeps the tokens", async () => {
    const port = await freePort("127.0.0.1");
    const folder = join(home, "mcp-remote");
    const begin = () =>
      new StdioClientTransport({
        command: process.execPath,
        args: [program("mcp-remote"), url(), String(port)],
        env: { ...environment(), MCP_REMOTE_CONFIG_DIR: folder },
        stderr: "pipe",
      });
    const transport = begin();
    const page = pageIn(transport.stderr as Readable);
    const client = new Client({ name: "desktop", version: "1.0.0" });
    const connecting = client.connect(transport, { timeout: 120_000 });
    const opened = await Promise.race([page, connecting.then(() => Promise.reject(new Error("It asked no one.")))]);
    requireSafe(opened, new RegExp(`^http://localhost:${port}/oauth/callback$`));
    const returned = await visitor.decide(opened);
    expect(returned.port).to.equal(String(port));
    expect(visitor.shown).to.include("Registered itself, not verified").and.include("Create workspaces in your name.");
    await connecting;

    const call = async (name: string, given: object = {}) => {
      const result = (await client.callTool({ name, arguments: { ...given } })) as Anything;
      expect(result.isError ?? false, JSON.stringify(result.content)).to.equal(false);
      return result.structuredContent.result;
    };
    expect((await call("who_am_i")).username).to.equal(ada.username);
    const template = await templateOf(w(), boxOf());
    expect((await call("find_templates", { search: template.name })).templates[0].id).to.equal(template.id);
    const made = await call("create_workspace", { name: "remote", template_id: template.id });
    const waiting = call("wait_for_workspace", { workspace_id: made.id });
    await doBuild(w(), made.latest_build.id);
    expect((await waiting).status).to.equal("running");
    const stopping = await call("stop_workspace", { workspace: made.id });
    await doBuild(w(), stopping.latest_build.id);
    expect((await readBox(w(), ada, made.id)).status).to.equal("STOPPED");
    await client.close();

    // It signs in once.
    const again = begin();
    const second = new Client({ name: "desktop", version: "1.0.0" });
    await second.connect(again, { timeout: 120_000 });
    expect(((await second.callTool({ name: "who_am_i" })) as Anything).structuredContent.result.id).to.equal(ada.id);
    await second.close();
    const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith("_tokens.json"));
    expect(files).to.have.lengthOf(1);
    expect(await readFile(join(folder, files[0]!), "utf8")).to.include("refresh_token");
  });

  it("is the command line of the MCP Inspector, which finds no fault with the tools", async () => {
    const port = await freePort("127.0.0.1");
    const inspect = (...args: string[]) => {
      const inspector = spawn(
        process.execPath,
        [
          program("mcp-inspector"),
          "--cli",
          "--server-url",
          url(),
          "--transport",
          "http",
          "--callback-url",
          `http://127.0.0.1:${port}/oauth/callback`,
          "--format",
          "json",
          ...args,
        ],
        { env: environment(), stdio: ["ignore", "pipe", "pipe"] },
      );
      const output = text(inspector.stdout);
      const said = text(inspector.stderr);
      const closed = once(inspector, "close");
      const done = async () => {
        const [status] = (await closed) as [number | null];
        const [printed, errors] = await Promise.all([output, said]);
        expect(status, errors).to.equal(0);
        return JSON.parse(printed).result;
      };
      return { inspector, done };
    };
    const first = inspect("--method", "tools/list", "--strict");
    const opened = await pageIn(first.inspector.stderr);
    requireSafe(opened, new RegExp(`^http://127.0.0.1:${port}/oauth/callback$`));
    await visitor.decide(opened);
    const { tools } = await first.done();
    expect(tools.map(({ name }: Anything) => name)).to.include.members(["who_am_i", "create_workspace"]);

    for (const era of ["legacy", "modern"]) {
      const call = ["--method", "tools/call", "--tool-name", "who_am_i"];
      const called = await inspect("--use-stored-auth", "--protocol-era", era, ...call).done();
      expect(called.structuredContent.result.username, era).to.equal(ada.username);
    }
  });
});
