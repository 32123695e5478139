import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { addAuthenticator } from "../support/authenticators.js";
import { type App, ownerPassword, startServer } from "../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../support/cluster.js";
import { command, spawnProgram, spawnServer } from "../support/process.js";
import { eventually, transports } from "../support/watchers.js";
import { Client } from "../support/world.js";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

/** The commit that the build noted: none in a copy without Git. */
const commit = existsSync("dist/commit") ? readFileSync("dist/commit", "utf8") : null;

const withCommit = commit === null ? version : `${version} (${commit})`;

/** The output of `--version`. */
const versionsOf = (text: string) =>
  new RegExp(`^${text.replaceAll(/[.()]/g, "\\$&")}\nTime zone data \\d{4}[a-z]+ of .+\n$`);

const signIn = (url: string, email: string, password: string) =>
  new Client(url).post("/api/v2/users/login", { email, password });

/** The email address and password that a command printed. */
const printed = (stdout: string) => {
  const [, email = "", password = ""] = /^Email +(\S+)\nPassword +(\S{24})\n$/.exec(stdout) ?? [];
  return { email, password };
};

describe("the command line", function () {
  const helps: Array<[words: string, says: string]> = [
    ["--help", "server --help"],
    ["-h", "workspaces create NAME"],
    ["help", "workspaces create NAME"],
    ["", "users list"],
    ["server --help", "admin reset-password --email E"],
    ["server", "STEWARD_DATABASE_URL"],
    ["admin create -h", "--username U"],
    ["admin create --help", "--username U"],
    ["license issue --email x --help", "--grace-days N"],
  ];
  it("prints help for all commands and for each, within 80 columns, and its version", async () => {
    const check = async ([words, says]: (typeof helps)[number]) => {
      const { status, stdout, stderr } = await command({}, ...words.split(" ").filter(Boolean));
      expect({ status, stderr }, words).to.deep.equal({ status: 0, stderr: "" });
      expect(stdout).to.include(says);
      expect(stdout.split("\n").filter((line) => line.length > 80)).to.deep.equal([]);
    };
    await Promise.all(helps.map(check));
    const { stdout: versions, ...rest } = await command({}, "--version");
    expect(rest).to.deep.equal({ status: 0, stderr: "" });
    expect(versions).to.match(versionsOf(withCommit));
  });

  it("prints the help and the version of the server, which rejects other options", async () => {
    const server = async (option: string) => {
      const { ended, stdout, stderr } = spawnProgram("dist/main.js", [option], {});
      return { status: await ended, stdout: stdout(), stderr: stderr() };
    };
    const [help, itsVersion, unknown] = await Promise.all(["--help", "--version", "--halp"].map(server));
    expect(help).to.include({ status: 0, stderr: "" });
    expect(help!.stdout)
      .to.match(/^Usage: npm start/)
      .and.include("STEWARD_PORT");
    expect(help!.stdout.split("\n").filter((line) => line.length > 80)).to.deep.equal([]);
    expect(itsVersion).to.include({ status: 0, stderr: "" });
    expect(itsVersion!.stdout).to.match(versionsOf(withCommit));
    expect(unknown).to.include({ status: 2, stdout: "" });
    expect(unknown!.stderr).to.match(/^Unknown option "--halp"\.\n.*--help\n$/);
  });

  it("show the commit of a clone, and in the changelog the date of the version", async () => {
    if (existsSync(".git")) expect(commit).to.match(/^[\da-f]{12}(-dirty)?$/);
    const headings = [...readFileSync("CHANGELOG.md", "utf8").matchAll(/^## (.*)$/gm)].map(([, text]) => text!);
    const released = headings.find((text) => text !== "Unreleased");
    expect(released).to.match(new RegExp(`^${version.replaceAll(".", "\\.")} \\(\\d{4}-\\d{2}-\\d{2}\\)$`));
  });

  const mistakes: Array<[words: string, says: RegExp]> = [
    ["serve", /^Unknown command "serve"\. Did you mean "server"\?\n/],
    ["frobnicate", /^Unknown command "frobnicate"\.\n.*--help\n$/],
    ["migrated", /^Unknown command "migrated"\. Did you mean "migrate"\?\n/],
    ["admin creat", /^Unknown command "admin creat"\. Did you mean "admin create"\?\n/],
    ["worksapces list", /^Unknown command "worksapces list"\. Did you mean "workspaces"\?\n/],
    ["admin create --email a@example.com", /^Missing required options: --username\.\n.*admin create --help\n$/],
    ["admin reset-password --mail a@example.com", /^Unknown option "--mail"\.\n/],
    ["migrate now", /^Unexpected argument 'now'/],
  ];
  it("rejects an invalid command with a message", async () => {
    const check = async ([words, says]: (typeof mistakes)[number]) => {
      const { status, stdout, stderr } = await command({}, ...words.split(" "));
      expect({ status, stdout }, words).to.deep.equal({ status: 2, stdout: "" });
      expect(stderr).to.match(says);
    };
    await Promise.all(mistakes.map(check));
  });

  it("reports invalid settings", async () => {
    const { status, stderr } = await command({ STEWARD_DATABASE_URL: "mysql://db", STEWARD_PORT: "x" }, "migrate");
    expect(status).to.equal(1);
    expect(stderr)
      .to.match(/STEWARD_DATABASE_URL must be/)
      .and.match(/STEWARD_PORT must be/);
  });

  it("migrates an empty database, repeatedly", async () => {
    const empty = await createDatabase();
    for (let time = 1; time <= 2; time++) {
      const { status, stdout, stderr } = await command({ STEWARD_DATABASE_URL: empty.url }, "migrate");
      expect({ status, stdout, stderr }).to.deep.equal({
        status: 0,
        stdout: "The database is up to date.\n",
        stderr: "",
      });
    }
    await empty.drop();
  });

  describe("with a server on an external database", () => {
    let database: TestDatabase;
    let app: App;
    before(async () => {
      database = await cloneDatabase();
      app = await startServer(database.url);
    });
    after(async () => {
      await app.close();
      await database.drop();
    });
    const steward = (...words: string[]) => command({ STEWARD_DATABASE_URL: database.url }, ...words);

    it("creates an administrator who can sign in with the printed password", async () => {
      const create = () => steward("admin", "create", "--email", "grace@example.com", "--username", "grace");
      const { status, stdout, stderr } = await create();
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: "" });
      const { email, password } = printed(stdout);
      const { body } = await signIn(app.url, email, password);
      const { me } = await new Client(app.url, body.session_token).graphql(`{
        me { username roles { name } organizations { isDefault } } }`);
      expect(me).to.deep.equal({
        username: "grace",
        roles: [{ name: "OWNER" }],
        organizations: [{ isDefault: true }],
      });

      expect(await create()).to.deep.equal({
        status: 1,
        stdout: "",
        stderr: "A user of this email or username exists already.\n",
      });
      const faulty = await steward("admin", "create", "--email", "nobody", "--username", "me");
      expect(faulty).to.deep.include({ status: 1, stdout: "" });
      expect(faulty.stderr)
        .to.match(/^--email: /m)
        .and.match(/^--username: /m);
    });

    it("removes the second factors of a user who has lost them, and ends the sessions", async () => {
      const owner = "owner@example.com";
      const { body } = await signIn(app.url, owner, ownerPassword);
      const session = new Client(app.url, body.session_token);
      await addAuthenticator(session, ownerPassword);
      expect((await signIn(app.url, owner, ownerPassword)).status).to.equal(401);
      const reset = () => steward("admin", "reset-factors", "--email", "OWNER@example.com");
      expect(await reset()).to.deep.equal({ status: 0, stdout: "The second factors are removed.\n", stderr: "" });
      expect((await signIn(app.url, owner, ownerPassword)).status).to.equal(201);
      await eventually(async () => (await session.get("/api/v2/groups")).status === 401, "the session has ended");
      expect(await reset()).to.deep.equal({ status: 0, stdout: "The user has no second factor.\n", stderr: "" });
      const unknown = await steward("admin", "reset-factors", "--email", "nobody@example.com");
      expect(unknown).to.deep.include({ status: 1, stdout: "" });
    });

    it("rejects an unknown email address", async () => {
      const { status, stdout, stderr } = await steward("admin", "reset-password", "--email", "nobody@example.com");
      expect({ status, stdout }).to.deep.equal({ status: 1, stdout: "" });
      expect(stderr).to.match(/not found/);
    });
  });

  it("resets a password while a server with the built-in Postgres runs, and ends all sessions of the user", async () => {
    const folder = await mkdtemp(join(tmpdir(), "steward-cli-"));
    await chmod(folder, 0o755);
    const settings = { STEWARD_DATA_DIR: join(folder, "data") };
    const server = await spawnServer(settings);
    try {
      const { body } = await signIn(server.url, "owner@example.com", ownerPassword);
      const socket = await transports.WebSocket(server.url, body.session_token);

      const { status, stdout, stderr } = await command(
        settings,
        "admin",
        "reset-password",
        "--email",
        "OWNER@example.com",
      );
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: "" });
      const { email, password } = printed(stdout);
      expect(email).to.equal("owner@example.com");
      expect(await socket.ended).to.equal(4403);
      expect((await new Client(server.url, body.session_token).get("/api/v2/groups")).status).to.equal(401);
      expect((await signIn(server.url, email, ownerPassword)).status).to.equal(401);
      expect((await signIn(server.url, email, password)).status).to.equal(201);
    } finally {
      server.child.kill("SIGTERM");
      await server.ended;
      await rm(folder, { recursive: true, force: true });
    }
  });
});
