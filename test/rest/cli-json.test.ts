// The commands of docs/cli-json.md, which are run: what they print with --json has the members that the document lists.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { UserCli } from "../support/cli.js";
import { importedTemplate } from "../support/console.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
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
  const the = world({ STEWARD_BUILTIN_DAEMON: "true" });
  let cli: UserCli;
  let stage: TaskStage;
  let directory: string;

  withTasks(the, (opened) => ({ stage } = opened));

  before(async () => {
    const w = the();
    directory = await mkdtemp(join(tmpdir(), "steward-json-"));
    cli = await UserCli.open({ STEWARD_URL: w.url, STEWARD_TOKEN: w.owner.token });
    const resources = [{ name: "box", agents: [{ name: "main", os: "linux", arch: "amd64", command: ["true"] }] }];
    await importedTemplate(w, "box", { schema: "steward.template/1", provisioner: "echo", resources });
    await stage.active(w.owner, { name: "work" });
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
  });
  after(async () => {
    await cli.close();
    await rm(directory, { recursive: true });
  });

  const run = async (words: readonly string[]): Promise<string> => {
    const given = words.map((word) => word.replace(/^DIR/, directory));
    const { status, stdout, stderr } = await cli.runWith({ input: "value" }, ...given, "--json");
    expect(status, `${words.join(" ")}: ${stderr}`).to.equal(0);
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

  it("has the members that its document lists, for every command", async () => {
    const rows = await readRows();
    expect(rows.length).to.be.above(30);
    const wrong: string[] = [];
    for (const { words, form, members } of rows) {
      const found = objectsOf[form]!(await run(words));
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
