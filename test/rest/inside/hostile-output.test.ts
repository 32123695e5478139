// What others wrote, in every output of the programs: a server whose every text is hostile, and every command.
// Looks inside: the functions through which all programs print.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { expect } from "chai";
import { escapedJson, jsonOf, onOneLine, stripControls, shownInColor } from "../../../src/runtime/terminal.js";
import { UserCli } from "../../support/cli.js";
import { controls, hostile, HostileSteward, type Values } from "../../support/hostile-steward.js";

const kept = new Set(["\t", "\n"]);
const obeyed = controls.filter((each) => !kept.has(each));

/** The characters of a text that a terminal obeys, as code points. */
const found = (text: string): string[] =>
  obeyed.filter((each) => text.includes(each)).map((each) => `U+${each.charCodeAt(0).toString(16)}`);

describe("what programs print", () => {
  it("holds nothing that a terminal obeys", () => {
    for (const control of obeyed)
      expect(stripControls(`a${control}b`), `U+${control.charCodeAt(0).toString(16)}`).to.equal("ab");
    expect(stripControls("a\tb\nc")).to.equal("a\tb\nc");
    expect(onOneLine("a\tb\r\nc\u2028d")).to.equal("a b cd");
    expect(found(stripControls(hostile))).to.deep.equal([]);
    // What is left after a removal is no sequence again.
    expect(found(stripControls("\u001b\u001b[2J[2J\u009b\u009b2J2J"))).to.deep.equal([]);
    // Marks that names need.
    expect(stripControls("a\u200eb\u200fc\u061cd\u200de")).to.equal("a\u200eb\u200fc\u061cd\u200de");
  });

  it("has the colors of programs where they are shown, until the end of the line, and no other sequence", () => {
    for (const sequence of ["31", "1;31", "0", "", "38;5;200", "48;2;1;2;3", "1;38;5;8;4", "38:2::1:2:3", "97", "107"])
      expect(shownInColor(`a\u001b[${sequence}mb`), sequence).to.equal(`a\u001b[${sequence}mb\u001b[0m`);
    for (const sequence of ["8", "1;8", "5", "38;8", "38;5;1;8", "100;200", "999", ";"])
      expect(shownInColor(`a\u001b[${sequence}mb`), sequence).to.equal(
        sequence === ";" ? "a\u001b[;mb\u001b[0m" : "ab",
      );
    expect(shownInColor("a\u001b[2Jb\u001b]0;t\u0007c\u001b[1;1Hd\u001b[?25le")).to.equal("abcde");
    const colored = shownInColor(hostile);
    // oxlint-disable-next-line no-control-regex -- what is allowed
    expect(found(colored.replaceAll(/\u001b\[[\d;]*m/g, ""))).to.deep.equal([]);
    expect(colored).to.include("\u001b[31mred");
  });

  it("has escapes in JSON, which keeps the value", () => {
    const json = jsonOf({ [hostile]: hostile }, 2);
    expect(found(json)).to.deep.equal([]);
    expect(JSON.parse(json)).to.deep.equal({ [hostile]: hostile });
    expect(escapedJson('"\u009b"')).to.equal('"\\u009b"');
  });
});

describe("the output of commands", () => {
  let steward: HostileSteward;
  let cli: UserCli;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    steward = await HostileSteward.open();
    environment = { STEWARD_URL: steward.url, STEWARD_TOKEN: "stw_se_any", BROWSER: "true" };
    cli = await UserCli.open();
    await mkdir(join(cli.directory, "template"));
    await writeFile(join(cli.directory, "template", "template.json"), "{}");
  });
  beforeEach(() => {
    steward.values = {};
    steward.respond = undefined;
  });
  after(async () => {
    steward.close();
    await cli.close();
  });

  /** A turn of a task, which then ends. */
  const statuses = (...each: string[]) => ({ TaskStatus: () => (each.length > 1 ? each.shift() : each[0]) });
  const cases = (): Array<[words: string, values?: Values]> => [
    ["whoami"],
    ["workspaces list"],
    ["workspaces list", { "WorkspaceConnection.totalCount": 3 }],
    ["workspaces show one"],
    ["workspaces create one --template box --preset nothing"],
    ["workspaces create one --template box"],
    ["workspaces create one --template box", { ProvisionerJobStatus: "FAILED" }],
    ["workspaces create one --template box --no-wait"],
    ["workspaces start one"],
    ["workspaces stop one"],
    ["workspaces restart one"],
    ["workspaces update one"],
    ["workspaces update one", { "Workspace.isOutdated": false }],
    ["workspaces cancel one"],
    ["workspaces cancel one --yes --no-wait", { ProvisionerJobStatus: "RUNNING" }],
    ["workspaces delete one --yes"],
    ["workspaces logs one"],
    ["workspaces logs one --follow"],
    ["workspaces open one"],
    ["open one"],
    ["ssh one"],
    ["port-forward one 22"],
    ["tasks list"],
    ["tasks show one"],
    ["tasks create work --template box"],
    ["tasks create work --template box", { TaskStatus: "ERROR" }],
    ["tasks send one text"],
    ["tasks send one text", { TaskInputState: "QUEUED" }],
    ["tasks decide one"],
    ["tasks decide one nothing"],
    ["tasks decide one ID"],
    ["tasks interrupt one"],
    ["tasks logs one"],
    ["tasks logs one --follow", statuses("ACTIVE", "PAUSED")],
    ["tasks pause one"],
    ["tasks resume one"],
    ["tasks delete one --yes"],
    ["templates list"],
    ["templates show box"],
    ["templates versions box"],
    ["templates push DIR"],
    ["templates push DIR", { "TemplateVersion.isImported": false, ProvisionerJobStatus: "FAILED" }],
    ["inbox list"],
    ["health --all"],
    ["health mute clock", { HealthCode: "CLOCK" }],
    ["inbox watch"],
    ["inbox watch --unread"],
    ["inbox read 3f8e6a1c-0000-4000-8000-000000000000"],
    ["secrets list"],
    ["secrets set one --file FILE"],
    ["secrets delete one --yes"],
    ["users list"],
    ["users list", { "UserConnection.totalCount": 3 }],
    ["users show one"],
    ["users create one --email one@example.com"],
    ["users create one --email one@example.com --organization nowhere"],
    ["users invite one@example.com"],
    ["users suspend one"],
    ["users activate one"],
    ["users delete one --yes"],
    ["groups list"],
    ["groups show one"],
    ["groups create one"],
    ["groups delete one --yes"],
    ["groups add-members one two"],
    ["groups remove-members one two"],
    ["organizations list"],
    ["tokens list"],
    ["tokens create one"],
    ["tokens revoke ID"],
    ["applications list"],
    ["licenses list"],
    ["audit list"],
    ["templates pull box DIR --force"],
  ];
  const wordsOf = (line: string) =>
    line.split(" ").map((word) => {
      if (word === "DIR") return join(cli.directory, "template");
      if (word === "FILE") return join(cli.directory, "template", "template.json");
      return word === "ID" ? hostile.replace("\u0000", "") : word;
    });
  const run = (...words: string[]) => cli.runWith({ env: environment }, ...words);

  it("of all commands is tried", async () => {
    const help = await cli.output("--help");
    const listed = [...help.split("Commands for operators")[0]!.matchAll(/^ {2}([a-z]+(?: [a-z]+)?)/gm)].map(
      ([, name]) => name!,
    );
    const tried = cases().map(([line]) => line);
    // These take no texts from a server, or are tried below.
    const others = new Set([
      "login",
      "logout",
      "servers",
      "servers use",
      "profile add",
      "profile use",
      "profile list",
      "profile remove",
      "templates init",
      "completion bash",
    ]);
    for (const name of listed)
      if (!others.has(name))
        expect(
          tried.some((line) => line.startsWith(name)),
          name,
        ).to.equal(true);
  });

  it("holds nothing that a terminal obeys, and each object of a list is on one line", async () => {
    let seen = 0;
    for (const [line, values = {}] of cases()) {
      steward.values = values;
      const { stdout, stderr } = await run(...wordsOf(line));
      expect(found(stdout + stderr), `${line}: ${stdout}${stderr}`).to.deep.equal([]);
      if ((stdout + stderr).includes("<a")) seen += 1;
      else
        expect(line, stdout + stderr).to.match(
          /^(inbox read|secrets (set|delete)|workspaces open|tasks send|licenses list|users create)/,
        );
      if (/^\w+ list$/.test(line)) expect(stdout.trimEnd().split("\n"), line).to.have.length(1);
      expect(stderr, line).to.not.match(/^ {4}at /m);
    }
    expect(seen).to.be.greaterThan(35);
  });

  it("is JSON with escapes, whose values are those of the server", async () => {
    for (const [line, values = {}] of cases()) {
      steward.values = values;
      const { status, stdout, stderr } = await run(...wordsOf(line), "--json");
      expect(found(stdout + stderr), `${line}: ${stdout}${stderr}`).to.deep.equal([]);
      if (status !== 0) continue;
      const isStream = /^(workspaces logs|tasks logs|inbox watch)/.test(line);
      const documents = isStream ? stdout.trimEnd().split("\n") : [stdout];
      for (const each of documents) {
        const said = JSON.stringify(JSON.parse(each));
        if (/^(whoami|\w+ (list|show|logs|watch))/.test(line) && line !== "licenses list")
          expect(said, line).to.include(JSON.stringify(hostile).slice(1, -1));
      }
    }
  });

  it("has the failures that a server reports, without what a terminal obeys", async () => {
    const extensions = {
      code: "INTERNAL_SERVER_ERROR",
      detail: hostile,
      validations: [{ field: hostile, detail: hostile }],
      requiredScopes: [hostile],
      requestId: hostile,
    };
    steward.respond = () => JSON.stringify({ errors: [{ message: hostile, extensions }] });
    for (const [line] of cases()) {
      const { status, stdout, stderr } = await run(...wordsOf(line));
      expect(status, `${line}: ${stdout}${stderr}`).to.be.oneOf([1, 3]);
      expect(found(stdout + stderr), `${line}: ${stdout}${stderr}`).to.deep.equal([]);
      expect(stdout + stderr, line).to.include("<a");
    }
  });

  it("is a line for a response of another shape, never a stack trace", async () => {
    const isLine = async (what: string, ...words: string[]) => {
      const { stdout, stderr } = await run(...words);
      expect(stdout + stderr, what).to.not.match(/^\s+at /m);
      return stderr.trimEnd().split("\n");
    };
    const bodies = [
      "",
      "null",
      "5",
      '"text"',
      "[]",
      "{}",
      "<html></html>",
      '{"message":5}',
      '{"data":5}',
      '{"data":[]}',
      '{"data":{}}',
      '{"data":{"me":null}}',
      '{"data":{"me":5}}',
      '{"data":{"me":{"username":5}}}',
      '{"errors":5}',
      '{"errors":"text"}',
      '{"errors":{}}',
      '{"errors":[null]}',
      '{"errors":[5]}',
      '{"errors":[{}]}',
      '{"errors":[{"message":5,"extensions":{"validations":5,"requiredScopes":"x","code":[],"detail":{}}}]}',
      '{"errors":[{"message":"No.","extensions":{"validations":[null,5,{}],"requiredScopes":[null],"retryAfter":"x"}}]}',
    ];
    for (const body of bodies) {
      steward.respond = () => body;
      const lines = await isLine(body, "whoami");
      if (!body.includes("validations")) expect(lines, body).to.have.length(1);
      expect((await run("whoami")).status, body).to.equal(1);
    }
  });

  const roots = (query: string) =>
    [...query.matchAll(/(?:query|mutation) \w+(?:\([^)]*\))? \{ (\w+)/g)].map(([, name]) => name!);
  for (const value of [null, 5, {}])
    it(`has no stack trace for results that are ${JSON.stringify(value)}`, async () => {
      steward.respond = (query) =>
        JSON.stringify({ data: Object.fromEntries(roots(query).map((name) => [name, value])) });
      for (const [line] of cases()) {
        const program = cli.start(wordsOf(line), { env: environment });
        // A build that never ends is waited for.
        const killing = setTimeout(() => program.child.kill(), 3_000);
        await program.ended;
        clearTimeout(killing);
        expect(program.output(), line).to.not.match(/^\s+at /m);
      }
    });

  describe("on a terminal", () => {
    /** Runs a command on a terminal, which `script` provides. A question gets no yes. Returns what it shows. */
    async function shownBy(words: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
      const line = [process.execPath, "dist/cli/main.js", ...words].map((word) => `'${word}'`).join(" ");
      const child = spawn("script", ["-qec", line, "/dev/null"], {
        env: { PATH: process.env.PATH, HOME: cli.directory, TERM: "xterm", ...environment, BROWSER: "true", ...env },
      });
      let output = "";
      let isAnswered = false;
      const read = (chunk: Buffer) => {
        output += chunk.toString();
        if (isAnswered || !output.includes("[y/N]")) return;
        isAnswered = true;
        child.stdin.write("n\r");
      };
      for (const stream of [child.stdout, child.stderr]) stream.on("data", read);
      await once(child, "close");
      return output.replaceAll("\r\n", "\n");
    }

    it("has colors, and logs those of programs, but nothing else", async () => {
      // oxlint-disable-next-line no-control-regex -- what is allowed
      const colors = /\u001b\[(?:\d{1,3}(?:;\d{1,3})*)?m/g;
      for (const line of [
        "workspaces list",
        "workspaces show one",
        "tasks show one",
        "inbox list",
        "workspaces logs one",
      ]) {
        const output = await shownBy(wordsOf(line));
        expect(found(output.replaceAll(colors, "")), `${line}: ${output}`).to.deep.equal([]);
        if (line.includes("logs")) expect(output).to.include("\u001b[31mred\u001b[0m").and.not.include("\u001b[8m");
        else expect(output, line).to.not.include("\u001b[31mred");
      }
      const plain = await shownBy(["workspaces", "logs", "one"], { NO_COLOR: "1" });
      expect(found(plain)).to.deep.equal([]);
    });

    it("asks without what a terminal obeys", async () => {
      // oxlint-disable-next-line no-control-regex -- how the line editor of Node.js moves the cursor
      const editing = /\u001b\[\d*[GJKCD]/g;
      const output = await shownBy(["workspaces", "delete", "one"], {});
      expect(output).to.include("Delete the workspace <a").and.include("Nothing was changed.");
      expect(found(output.replaceAll(editing, "").replaceAll("\r", ""))).to.deep.equal([]);
    });
  });

  describe("of a login", () => {
    /** Responds as the OAuth2 server of a hostile Steward. */
    const oauth2 =
      (answers: Record<string, [status: number, body: object]>) =>
      (request: IncomingMessage, response: ServerResponse) => {
        const name = Object.keys(answers).find((each) => request.url!.includes(each));
        const [status, body] = name === undefined ? [404, {}] : answers[name]!;
        response.writeHead(status, { "Content-Type": "application/json" });
        response.end(JSON.stringify(body));
      };
    const metadata = (changes: object = {}) => ({
      issuer: steward.url,
      registration_endpoint: `${steward.url}/register`,
      token_endpoint: `${steward.url}/token`,
      device_authorization_endpoint: `${steward.url}/device`,
      revocation_endpoint: `${steward.url}/revoke`,
      ...changes,
    });

    it("shows codes, addresses, and errors without what a terminal obeys", async () => {
      const device = { device_code: "x", user_code: hostile, verification_uri: hostile, expires_in: 60, interval: 1 };
      const denial = { error: "invalid_request", error_description: hostile };
      steward.other = oauth2({
        "well-known": [200, metadata()],
        register: [201, { client_id: "one" }],
        device: [200, device],
        token: [400, denial],
      });
      const { status, stdout, stderr } = await cli.run("login", steward.url, "--no-browser");
      expect(status, stderr).to.equal(1);
      expect(stderr.split("<a").length, stderr).to.be.greaterThan(2);
      expect(found(stdout + stderr)).to.deep.equal([]);
    });

    it("sends nothing to another machine without encryption, wherever a server points", async () => {
      for (const endpoint of ["registration_endpoint", "token_endpoint", "device_authorization_endpoint"]) {
        const device = {
          device_code: "x",
          user_code: "AAAA-BBBB",
          verification_uri: steward.url,
          expires_in: 60,
          interval: 1,
        };
        steward.other = oauth2({
          "well-known": [200, metadata({ [endpoint]: "http://192.0.2.7/x" })],
          register: [201, { client_id: "one" }],
          device: [200, device],
          token: [400, { error: "authorization_pending" }],
        });
        const own = await UserCli.open();
        const { status, stderr } = await own.run("login", steward.url, "--no-browser");
        await own.close();
        expect(status, endpoint).to.equal(1);
        expect(stderr, endpoint).to.include(
          `${steward.url} asks to send tokens to http://192.0.2.7/x, which is not encrypted.`,
        );
      }
    });
  });

  it("says that a token would go to another machine without encryption, and sends none", async () => {
    const at = (url: string, ...words: string[]) =>
      cli.runWith({ env: { STEWARD_URL: url, STEWARD_TOKEN: "stw_se_any" } }, "whoami", ...words);
    const port = new URL(steward.url).port;
    for (const host of [
      "192.0.2.7",
      "example.com",
      "localhost.example.com",
      "10.0.0.1",
      "[2001:db8::1]",
      "128.0.0.1",
    ]) {
      const rejected = await at(`http://${host}:${port}`);
      expect(rejected, host).to.deep.equal({
        status: 1,
        stdout: "",
        stderr: `http://${host}:${port} is not encrypted: others could read your tokens. Use https, or --allow-http.\n`,
      });
    }
    for (const host of ["127.0.0.1", "localhost", "127.1"])
      expect((await at(`http://${host}:${port}`)).status, host).to.equal(0);
    // These are not rejected; whether a resolver or an interface has them is another matter.
    for (const host of ["steward.localhost", "[::1]", "[::ffff:127.0.0.1]", "127.8.9.10"])
      expect((await at(`http://${host}:${port}`)).stderr, host).to.not.include("not encrypted");
    // TEST-NET-1 is never reached.
    const allowed = at("http://192.0.2.7:9", "--allow-http");
    const outcome = await Promise.race([allowed, new Promise((done) => setTimeout(done, 1_500, "tries"))]);
    if (outcome !== "tries") expect((outcome as { stderr: string }).stderr).to.include("cannot be reached");
  });
});
