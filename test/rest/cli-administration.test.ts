// What administrators do on the command line, other names of commands, columns, and completion.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { UserCli } from "../support/cli.js";
import { type Person, startWorld, type World } from "../support/world.js";

const lines = (output: string) => output.trimEnd().split("\n");

describe("the commands of administrators", () => {
  let w: World;
  let ada: Person;
  let cli: UserCli;

  before(async () => {
    w = await startWorld();
    ada = await w.user("ada");
    cli = await UserCli.open();
    await cli.signIn(w.app.services.config.accessUrl, w.owner, "--admin");
  });
  after(async () => {
    await cli.close();
    await w.close();
  });

  it("create, list, show, suspend, activate, and delete users", async () => {
    expect(await cli.output("users", "create", "grace", "--email", "grace@example.com")).to.equal(
      "User grace is created.\n",
    );
    const columns = ["--columns", "username,status"];
    expect(lines(await cli.output("users", "list", "--search", "grace", ...columns))).to.deep.equal(["grace\tactive"]);
    expect(await cli.output("users", "suspend", "grace")).to.equal("User grace is suspended.\n");
    expect(await cli.json("users", "list", "--status", "suspended")).to.have.length(1);
    await cli.output("users", "activate", "grace");
    expect(await cli.output("user", "get", "grace"))
      .to.match(/^Username\tgrace\n/)
      .and.include("Status\tactive");
    await cli.output("users", "rm", "grace", "--yes");
    const gone = await cli.run("users", "show", "grace");
    expect(gone).to.include({ status: 1, stderr: 'There is no user "grace", or you do not have access to it.\n' });
  });

  it("invite people, with a link where the server sends no mail", async () => {
    const env = { STEWARD_URL: w.url, STEWARD_TOKEN: (await w.scoped(w.owner, "all")).token };
    const invite = () => cli.runWith({ env }, "users", "invite", "new@example.com", "--name", "New");
    expect((await invite()).stdout).to.match(/\/login\/invitation\?token=stwv_/);
    const again = await invite();
    expect(again).to.include({ status: 1 });
    expect(again.stderr).to.include("This email has an open invitation.");
  });

  it("create service accounts in named organizations", async () => {
    const { name } = await w.organization();
    const words = ["robot", "--email", "robot@example.com", "--service-account", "--organization", name];
    const { organizations } = (await cli.json("users", "create", ...words), await cli.json("users", "show", "robot"));
    expect(organizations).to.deep.equal([{ name }]);
    const fault = await cli.run("users", "create", "other", "--email", "other@example.com", "--organization", "no");
    expect(fault).to.include({
      status: 1,
      stderr: 'There is no organization "no", or you do not have access to it.\n',
    });
  });

  it("change groups and their members", async () => {
    await cli.output("groups", "create", "builders", "--quota", "3");
    expect(await cli.output("groups", "add-members", "builders", ada.username)).to.equal(
      "Group builders has 1 member.\n",
    );
    expect(await cli.output("groups", "show", "builders"))
      .to.include(`Members\t${ada.username}`)
      .and.include("Quota\t3");
    await cli.output("groups", "remove-members", "builders", ada.id);
    expect(lines(await cli.output("groups", "ls", "--search", "builders", "--columns", "NAME,MEMBERS"))).to.deep.equal([
      "builders\t0",
    ]);
    await cli.output("groups", "delete", "builders", "--yes");
    expect((await cli.run("groups", "show", "builders")).stderr).to.equal(
      'There is no group "builders", or you do not have access to it.\n',
    );
  });

  it("list organizations, applications, licenses, and what happened", async () => {
    expect(await cli.output("orgs", "ls", "--columns", "NAME,DEFAULT")).to.include("default");
    expect(await cli.json("applications", "list")).to.be.an("array");
    expect(await cli.output("licenses", "list")).to.equal("");
    const events = await cli.json("audit", "list", "--type", "user", "--limit", "5");
    expect(events[0]).to.include.keys("action", "actorUsername", "resourceLabel");
  });

  it("list, create, and revoke tokens, where a token permits it", async () => {
    const refused = await cli.run("tokens", "list");
    expect(refused.stderr).to.include("This operation takes a session or an API token");
    const env = { STEWARD_URL: w.url, STEWARD_TOKEN: (await w.scoped(w.owner, "all")).token };
    const made = await cli.runWith(
      { env },
      "tokens",
      "create",
      "robot",
      "--scope",
      "user:read",
      "--days",
      "2",
      "--json",
    );
    const { apiKey, token: text } = JSON.parse(made.stdout);
    expect(text).to.match(/^stw_/);
    expect(apiKey.scopes).to.deep.equal(["user:read"]);
    const listed = await cli.runWith({ env }, "tokens", "list", "--columns", "name,scopes");
    expect(listed.stdout).to.include("robot\tuser:read\n");
    expect(await cli.runWith({ env }, "tokens", "revoke", apiKey.id)).to.include({ status: 0 });
    expect((await w.as({ token: text }).failure("{ me { id } }")).code).to.equal("UNAUTHENTICATED");
  });

  it("tell a member what is missing", async () => {
    const own = await UserCli.open();
    try {
      await own.signIn(w.app.services.config.accessUrl, ada);
      const { status, stderr } = await own.run("audit", "list");
      expect(status).to.equal(1);
      expect(stderr).to.include("Use a login or a token that has it: see login --scope.");
    } finally {
      await own.close();
    }
  });

  it("know no other columns than those of the table", async () => {
    const { status, stderr } = await cli.run("users", "list", "--columns", "NAME,AGE");
    expect(status).to.equal(2);
    expect(stderr).to.match(/^There is no column NAME\. The columns are USERNAME, EMAIL, STATUS, /);
  });

  it("are completed by bash", async () => {
    const script = join(cli.directory, "completion.sh");
    await writeFile(script, await cli.output("completion", "bash"));
    const completed = async (...typed: string[]) => {
      const words = ["steward", ...typed].map((word) => `'${word}'`).join(" ");
      const program = `source ${script}; COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _steward; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return lines((await promisify(execFile)("bash", ["-c", program])).stdout);
    };
    expect(await completed("work")).to.deep.equal(["workspaces"]);
    expect(await completed("groups", "add")).to.deep.equal(["add-members"]);
    expect(await completed("users", "list", "--s")).to.have.members(["--search", "--status", "--server"]);
    expect(await completed("workspaces", "delete", "mine", "--y")).to.deep.equal(["--yes"]);
    expect(await completed("servers", "u")).to.deep.equal(["use"]);
    expect(await completed("servers", "use", "--s"), "a command of a group that is a command").to.deep.equal([
      "--server",
    ]);
    expect(await completed("servers", "--js")).to.deep.equal(["--json"]);
    expect(await completed("ws", "l"), "other names").to.have.members(["list", "logs"]);
    expect(await completed("ws", "rm", "mine", "--y")).to.deep.equal(["--yes"]);
    expect(await readFile(script, "utf8"), "macOS has bash 3.2").to.not.include("mapfile");
    const commands = await cli.output("server", "--help");
    const operators = [...commands.split("Environment variables")[0]!.matchAll(/^ {2}([a-z]+)/gm)].map(
      ([, name]) => name!,
    );
    expect(operators).to.include("migrate");
    expect(await completed("")).to.include.members(operators);
  });

  /** Writes the script of a shell, and runs a program in it, unless the shell is not installed. */
  async function inShell(shell: string, options: string[], programOf: (script: string) => string) {
    const script = join(cli.directory, `completion.${shell}`);
    await writeFile(script, await cli.output("completion", shell));
    const run = promisify(execFile)(shell, [...options, "-c", programOf(script)]);
    return run.catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
  }

  it("are completed by fish, where it is installed", async function () {
    const typed = ["work", "ws l", "ws ls --se", "servers use --s", "users list --st", "templates push /et"];
    const found = await inShell("fish", ["--no-config"], (script) =>
      [`source ${script}`, ...typed.map((line) => `echo "${line} =>" (complete -C "steward ${line}")`)].join("\n"),
    );
    const { stdout, stderr } = found ?? this.skip();
    expect(stderr).to.equal("");
    expect(lines(stdout)).to.deep.equal([
      "work => workspaces",
      "ws l => list logs",
      "ws ls --se => --search --server",
      "servers use --s => --server",
      "users list --st => --status",
      "templates push /et => /etc/",
    ]);
  });

  it("are completed by zsh, where it is installed", async function () {
    const typed = ["work", "ws l", "ws ls --se", "templates push x"];
    // Its builtin works only within the line editor.
    const prepared = `autoload -Uz compinit; compinit -D; compadd() { print -r -- \${@[2,3]} }; _files() { print files }`;
    const found = await inShell("zsh", ["-f"], (script) =>
      [
        `${prepared}; source ${script}`,
        ...typed.map((line) => `words=(steward ${line}); CURRENT=$#words; _steward`),
      ].join("\n"),
    );
    const { stdout, stderr } = found ?? this.skip();
    expect(stderr).to.equal("");
    const first = (await cli.output("completion", "bash")).match(/^ {4}""\) choices="(\S+ \S+)/m)![1]!;
    expect(lines(stdout)).to.deep.equal([first, "list show", "--all --search", "--name --organization", "files"]);
  });

  it("have scripts for zsh and fish, and for no other shell", async () => {
    expect(await cli.output("completion", "zsh")).to.match(/^#compdef steward\n/);
    expect(await cli.output("completion", "fish")).to.include("complete -c steward -f");
    expect(await cli.run("completion", "tcsh")).to.include({ status: 2 });
  });
});
