// The commands of docs/cli-json.md, which are run: what they print with --json has the members that the document lists.
// Reaches for tables: the checks of health run when the test asks for it.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import type { AgentProgram } from "../support/agent-api.js";
import { checkHealth } from "../support/background.js";
import { UserCli } from "../support/cli.js";
import { importedTemplate } from "../support/console.js";
import { newId } from "../support/ids.js";
import { madeUp } from "../support/licensing.js";
import { insert } from "../support/stage.js";
import { setTimes } from "../support/tables.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Anything, world } from "../support/world.js";

/** A row of a table: the command, the form of its output, and its members. */
interface Row {
  words: string[];
  form: string;
  members: string[];
}

const textOf = (cell: string) => cell.replaceAll("`", "").trim();

async function readRows(): Promise<Row[]> {
  const text = await readFile("docs/cli-json.md", "utf8");
  return [...text.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, command = "", form = "", members = ""]) => ({
      words: command.split(" "),
      form: textOf(form),
      members: textOf(members).split(", "),
    }),
  );
}

describe("the JSON of the command line", () => {
  const the = world({ STEWARD_BUILTIN_DAEMON: "true", STEWARD_HEALTH_INTERVAL: "1d" });
  let cli: UserCli;
  let stage: TaskStage;
  let directory: string;
  /** The meanings of words in capitals. */
  let meant: Record<string, string>;

  let program: AgentProgram;
  withTasks(the, (opened) => ({ stage, program } = opened));

  before(async () => {
    const w = the();
    directory = await mkdtemp(join(tmpdir(), "steward-json-"));
    cli = await UserCli.open({ STEWARD_URL: w.url, STEWARD_TOKEN: w.owner.token });
    const apps = ["web", "ssh"].map((slug) => ({ slug, url: "http://box.example.com:2222/" }));
    const agents = [{ name: "main", os: "linux", arch: "amd64", command: ["true"], apps }];
    const resources = [{ name: "box", agents }];
    await importedTemplate(w, "box", { schema: "steward.template/1", provisioner: "echo", resources });
    await stage.active(w.owner, { name: "work" });
    program.say("agent", "Hello");
    const { task, token } = await stage.active(w.owner, { name: "talk" });
    await stage.converse(token, task.id);
    const options = [{ id: "no", name: "Reject", kind: "REJECT_ONCE" }];
    const call = { toolCallId: "1", title: "Delete" };
    await stage.tell(token, task.id, {
      state: "REQUIRES_ACTION",
      messages: [
        {
          key: "1",
          role: "AGENT",
          parts: [
            { kind: "TEXT", text: "Hello" },
            { kind: "TOOL_CALL", ...call, toolKind: "execute", status: "PENDING", input: "{}" },
            { kind: "PERMISSION", requestId: "1", ...call, options },
          ],
          writtenAt: new Date().toISOString(),
        },
      ],
    });
    await setTimes(w, "deployment", {}, { health_checked_at: "-1 s" });
    await checkHealth(w.app);
    const mute = `input: { code: DATABASE_SETTINGS, until: "${new Date(Date.now() + 3_600_000).toISOString()}" }`;
    await w.as(w.owner).graphql(`mutation { muteHealthCheck(${mute}) { __typename } }`);
    const license = { uuid: newId(), uploaded_at: "now", token: madeUp({ jti: newId() }), token_sha256: "\\x01" };
    await insert(w, { licenses: [license] });
    await w.user("ada");
    await w.group("crew");
    await w.scoped(w.owner, "user:read");
    const custom = `content: { title: "Hello", message: "You" }`;
    await w.as(w.owner).graphql(`mutation { sendCustomNotification(input: { ${custom} }) { __typename } }`);
    await w
      .as(w.owner)
      .graphql(
        `mutation { createOAuth2App(input: { name: "App", callbackUrl: "https://app.example.com/" }) { __typename } }`,
      );
    const read = `{ inboxNotifications(first: 1) { nodes { id } } apiKeys(kind: TOKEN) { id } }`;
    let found: Anything;
    await eventually(async () => {
      found = await w.as(w.owner).graphql(read);
      return found.inboxNotifications.nodes.length > 0;
    }, "the notification");
    meant = {
      DIR: directory,
      SERVER: w.app.services.config.accessUrl,
      ID: found.inboxNotifications.nodes[0].id,
      TOKEN: found.apiKeys[0].id,
    };
  });
  after(async () => {
    await cli.close();
    await rm(directory, { recursive: true });
  });

  /** The work of the daemon, which is the test, after a command. */
  const afterwards: Record<string, () => Promise<unknown>> = {
    "tasks create Hello --template agents --no-wait": () => stage.carryOut(),
    "tasks pause work --no-wait": () => stage.carryOut(),
    "tasks resume work --no-wait": () => stage.carryOut(),
  };

  /** Runs a command that goes on until it is interrupted, and interrupts it after the first line. */
  const watched = async (given: string[]): Promise<string> => {
    const watching = cli.start(given);
    await eventually(() => watching.stdout().includes("\n"), given.join(" "), 20_000);
    watching.child.kill("SIGINT");
    await watching.ended;
    return watching.stdout();
  };

  const run = async (words: readonly string[]): Promise<string> => {
    const given = words.map((word) => word.replace(/^(DIR|SERVER|ID|TOKEN)/, (name) => meant[name]!));
    const [name, ...rest] = given;
    if (name === "login") return (await cli.signIn(rest[0]!, the().owner, "--json")).stdout;
    if (words.includes("watch")) return watched([...given, "--json"]);
    const { status, stdout, stderr } = await cli.runWith({ input: "value" }, ...given, "--json");
    expect(status, `${words.join(" ")}: ${stdout}${stderr}`).to.equal(0);
    await afterwards[words.join(" ")]?.();
    return stdout;
  };

  const objectsOf: Record<string, (stdout: string) => Anything[]> = {
    object: (stdout) => [JSON.parse(stdout)],
    list: (stdout) => JSON.parse(stdout),
    lines: (stdout) =>
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
  };

  it("has a row in its document for every command", async () => {
    const help = await cli.output("--help");
    const [ofUsers = ""] = help.split("Commands for operators");
    const commands = [...ofUsers.matchAll(/^ {2}([a-z-]+(?: [a-z-]+)?)/gm)].map(([, name]) => name!);
    expect(commands.length).to.be.above(50);
    const rows = (await readRows()).map(({ words }) => `${words.join(" ")} `);
    // It serves a port until it is interrupted.
    const missing = commands.filter((name) => !rows.some((row) => row.startsWith(`${name} `)));
    expect(missing).to.deep.equal(["port-forward"]);
  });

  it("has the members that its document lists, for every command", async () => {
    const rows = await readRows();
    expect(rows.length).to.be.above(60);
    const wrong: string[] = [];
    for (const { words, form, members } of rows) {
      const stdout = await run(words);
      expect(stdout.trim(), `${words.join(" ")} prints something`).to.not.equal("");
      const found = objectsOf[form]!(stdout);
      expect(found, `${words.join(" ")} has one`)
        .to.be.an("array")
        .and.have.property("length")
        .above(0);
      const names = [...new Set(found.flatMap((each) => Object.keys(each)))];
      if (names.toSorted().join() !== members.toSorted().join())
        wrong.push(`| \`${words.join(" ")}\` | ${form} | ${names.map((name) => `\`${name}\``).join(", ")} |`);
    }
    expect(wrong.join("\n")).to.equal("");
  });
});
