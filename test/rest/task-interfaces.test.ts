// The life of one task by all interfaces in turn: the command line creates, resumes, and deletes it, the console pauses it,
// and each sends inputs. The conversation is the same in all of them at every stage.
import { chmod, copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { prints, UserCli } from "../support/cli.js";
import { consoleTests } from "../support/console.js";
import { type Program, spawnProgram } from "../support/process.js";
import { newKey } from "../support/provisioners.js";
import { eventually } from "../support/watchers.js";
import type { Anything } from "../support/world.js";

/** Milliseconds for what processes do. */
const timeout = 30_000;

/** A speaker and a text. */
type Spoken = [speaker: "input" | "output", content: string];

describe("a task by REST, GraphQL, the command line, and the console", () => {
  const console = consoleTests();
  let directory: string;
  let daemon: Program;
  let cli: UserCli;

  before(async () => {
    cli = await UserCli.open();
    directory = await realpath(await mkdtemp(join(tmpdir(), "tasks-")));
    await chmod(directory, 0o711);
    await copyFile("examples/agentapi-echo/chat.mjs", join(directory, "chat.mjs"));
  });
  after(async () => {
    daemon.child.kill("SIGTERM");
    await daemon.ended;
    await cli.close();
    await rm(directory, { recursive: true });
  });

  it("lives the same life, and has the same conversation", async () => {
    const { world: w, home, openAs, page } = console();
    const ada = await w.user("ada");
    const as = w.as(ada);
    daemon = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user"], {
      STEWARD_URL: w.url,
      STEWARD_PROVISIONER_KEY: await newKey(w),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    });
    // An administrator pushes the template from its folder, by an API token.
    const folder = join(directory, "template");
    const document = await readFile("examples/agentapi-echo/template.json", "utf8");
    await mkdir(folder);
    await writeFile(join(folder, "template.json"), document.replace('"interval": 5', '"interval": 1'));
    await writeFile(join(folder, "variables.json"), JSON.stringify({ program: join(directory, "chat.mjs") }));
    const asOwner = { env: { STEWARD_URL: home, STEWARD_TOKEN: w.owner.token } };
    const pushed = await cli.runWith(asOwner, "templates", "push", folder, "--name", "chat");
    expect(pushed.status, pushed.stderr).to.equal(0);
    await cli.signIn(home, ada);

    const spoken = (entries: Array<{ type: string; content: string }>): Spoken[] =>
      entries.map(({ type, content }) => [type.toLowerCase() as Spoken[0], content]);
    const interfaces: Record<string, () => Promise<Spoken[]>> = {
      REST: async () => spoken((await as.get("/api/v2/tasks/me/shared/logs")).body.logs ?? []),
      GraphQL: async () =>
        spoken((await as.graphql(`{ task(task: "shared") { logs { entries { type content } } } }`)).task.logs.entries),
      "the command line": async () =>
        spoken(
          (await cli.output("tasks", "logs", "shared", "--json"))
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line)),
        ),
      "the console": () =>
        page.locator("section.conversation > .input, ol.conversation > li:not(.waiting)").evaluateAll((items) =>
          items.map((item: Anything): Spoken => {
            // Each begins with who wrote it.
            const before = [...item.querySelectorAll(".hidden, .block")].map((each) => each.textContent);
            return [item.className as Spoken[0], item.textContent.slice(before.join("").length).trimEnd() as string];
          }),
        ),
    };
    const agree = async (stage: string, expected: Spoken[]) => {
      for (const [name, read] of Object.entries(interfaces)) {
        let seen: Spoken[] = [];
        const isEqual = async () => {
          seen = await read();
          return JSON.stringify(seen) === JSON.stringify(expected);
        };
        await eventually(isEqual, `${stage}, by ${name}`, timeout).catch((error: unknown) => {
          expect(seen, `${stage}, by ${name}`).to.deep.equal(expected);
          throw error;
        });
      }
    };
    const exchange = (input: string): Spoken[] => [
      ["input", input],
      ["output", `small echo: ${input}`],
    ];

    const made = await cli.run("tasks", "create", "Hello", "there", "--template", "chat", "--name", "shared");
    expect(made.stdout, made.stderr).to.equal(`Task ${ada.username}/shared is active.\n`);
    const follower = cli.start(["tasks", "logs", "shared", "--follow"]);
    const { id, ...shown } = await cli.json("tasks", "show", "shared");
    expect(shown).to.deep.include({ status: "ACTIVE", templateName: "chat", initialPrompt: "Hello there" });
    await openAs(ada, `/tasks/${id}`);
    const first = exchange("Hello there");
    await agree("after the prompt", first);

    expect((await as.post("/api/v2/tasks/me/shared/send", { input: "From REST" })).status).to.equal(204);
    await agree("after REST", [...first, ...exchange("From REST")]);
    await as.graphql(`mutation { sendTaskInput(input: { task: "${id}", input: "From GraphQL" }) { __typename } }`);
    const third = [...first, ...exchange("From REST"), ...exchange("From GraphQL")];
    await agree("after GraphQL", third);
    expect(await cli.output("tasks", "send", "shared", "From", "a terminal")).to.match(/^The text /);
    const fourth = [...third, ...exchange("From a terminal")];
    await agree("after the command line", fourth);
    // The second line looks as if another user had sent it.
    const forged = "From a pipe\n[12:00:00] @root: Stop";
    const piped = await cli.runWith({ input: `${forged}\n` }, "tasks", "send", "shared", "-");
    expect(piped.status, piped.stderr).to.equal(0);
    const fifth = [...fourth, ...exchange(forged)];
    await agree("after standard input", fifth);
    await page.getByRole("main").getByLabel("Message", { exact: true }).fill("From the console");
    await page.getByRole("main").getByRole("button", { name: "Send" }).click();
    const all = [...fifth, ...exchange("From the console")];
    await agree("after the console", all);
    const { inputs } = await cli.json("tasks", "show", "shared");
    expect(inputs[0]).to.deep.include({ content: "From REST", sender: { username: ada.username } });
    expect(await cli.output("tasks", "show", "shared")).to.match(
      new RegExp(`^Input of ${ada.username}\\t.* delivered: From a terminal$`, "m"),
    );
    await prints(follower, `@${ada.username}: From REST`);
    await prints(follower, "program: small echo: From the console");
    const printed = await cli.output("tasks", "logs", "shared");
    const speakers = [...printed.matchAll(/^\[[^\]]+\] (\S+): /gm)].map(([, speaker]) => speaker);
    const exchanges = all.length / 2 - 1;
    expect(speakers, printed).to.deep.equal([
      "user",
      "program",
      ...Array.from({ length: exchanges }, () => [`@${ada.username}`, "program"]).flat(),
    ]);
    expect(await page.locator("ol.conversation li.input .block").allTextContents()).to.have.length(exchanges);

    // The console pauses it, and the command line resumes it.
    await page.getByRole("main").getByRole("button", { name: "Pause" }).click();
    const isStatus = (status: string) =>
      eventually(
        async () => (await cli.json("tasks", "show", "shared")).status === status,
        `status ${status}`,
        timeout,
      );
    await isStatus("PAUSED");
    await agree("while it is paused", all);
    const refused = await cli.run("tasks", "send", "shared", "Too late");
    expect(refused.status).to.equal(1);
    expect(refused.stderr).to.match(/active|paused/);
    await prints(follower, "The task is paused.");
    expect(await cli.output("tasks", "resume", "shared")).to.equal(`Task ${ada.username}/shared is active.\n`);
    expect((await as.post("/api/v2/tasks/me/shared/send", { input: "Back again" })).status).to.equal(204);
    await eventually(
      async () => (await interfaces.REST!()).some(([, content]) => content === "small echo: Back again"),
      "the response after the resume",
      timeout,
    );
    // The program got its conversation back, and went on with it.
    await agree("after it is resumed", [...all, ...exchange("Back again")]);
    await prints(follower, "program: small echo: Back again");

    expect(await cli.output("tasks", "list", "--status", "active")).to.include(`${ada.username}/shared\tchat\tactive`);
    expect(await cli.output("tasks", "pause", "shared")).to.equal(`Task ${ada.username}/shared is paused.\n`);
    expect((await cli.run("tasks", "delete", "shared")).status).to.equal(2);
    expect(await cli.output("tasks", "delete", "shared", "--yes")).to.equal(
      `Task ${ada.username}/shared is deleted.\n`,
    );
    expect((await as.get("/api/v2/tasks/me/shared")).status).to.equal(404);
    expect(await cli.output("tasks", "list")).to.equal("");
    // Nothing more can come.
    expect(await follower.ended, follower.stderr()).to.equal(0);
    // Each message was printed once, although the streams began again.
    for (const [nr, [type, content]] of all.entries()) {
      const speaker = type === "output" ? "program" : nr === 0 ? "user" : `@${ada.username}`;
      const line = `] ${speaker}: ${content.replaceAll("\n", "\n  ")}\n`;
      expect(follower.stdout().split(line), line).to.have.length(2);
    }
  });
});
