// Direct connections of the command line to workspaces that a real daemon runs on this machine, and to those that it cannot reach.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, realpath, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { UserCli } from "../support/cli.js";
import { freePort } from "../support/ports.js";
import { type Program, spawnProgram } from "../support/process.js";
import { newKey } from "../support/provisioners.js";
import { eventually } from "../support/watchers.js";
import { type Person, startWorld, type World } from "../support/world.js";

/** Milliseconds for what processes do. */
const timeout = 60_000;

const serve = `require("node:http").createServer((_, response) => response.end("Hello from the workspace"))
  .listen(Number(process.argv.at(-1)), "127.0.0.1");`;

const documentOf = (provisioner: string, apps: object[], command?: string[]) => ({
  schema: "steward.template/1",
  provisioner,
  resources: [
    { name: "box", agents: [{ name: "main", os: "linux", arch: "amd64", ...(command && { command }), apps }] },
  ],
});

describe("steward open, ssh, and port-forward", () => {
  let w: World;
  let ada: Person;
  let cli: UserCli;
  let directory: string;
  let daemon: Program;

  before(async () => {
    w = await startWorld({ STEWARD_BUILTIN_DAEMON: "true" });
    directory = await realpath(await mkdtemp(join(tmpdir(), "connect-")));
    await chmod(directory, 0o711);
    daemon = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user", "--end-programs"], {
      STEWARD_URL: w.url,
      STEWARD_PROVISIONER_KEY: await newKey(w),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    });
    ada = await w.user("ada");
    cli = await UserCli.open();
    await cli.signIn(w.app.services.config.accessUrl, ada);
    await running(
      "here",
      documentOf(
        "process",
        [{ slug: "web", url: "http://${host.address}:${port.web}" }],
        ["node", "-e", serve, "${port.web}"],
      ),
    );
    await running("away", documentOf("echo", [{ slug: "web", url: "http://127.0.0.1:9" }]));
    await running("sshd", documentOf("echo", [{ slug: "ssh", url: "http://box.example:2222", hidden: true }]));
  });
  after(async () => {
    daemon.child.kill("SIGTERM");
    expect(await daemon.ended).to.equal(0);
    await cli.close();
    await w.close();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  });

  /** Creates a template and a workspace of it with a name, and waits until it runs. */
  async function running(name: string, document: object): Promise<void> {
    const create = `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id } } }`;
    const { createTemplate } = await w
      .as(w.owner)
      .graphql(create, { input: { organization: "default", name, document } });
    const query = "query($id: UUID!) { templateVersion(id: $id) { isImported } }";
    await eventually(
      async () =>
        (await w.as(w.owner).graphql(query, { id: createTemplate.templateVersion.id })).templateVersion.isImported,
      "the import",
      timeout,
    );
    await cli.output("workspaces", "create", name, "--template", name);
  }

  it("open an app of a workspace on this machine, and serve its port at another one until they are interrupted", async () => {
    const { url } = await cli.json("open", "here");
    await eventually(
      () =>
        fetch(url as string).then(
          ({ ok }) => ok,
          () => false,
        ),
      "the app",
      timeout,
    );
    expect(await (await fetch(url as string)).text()).to.equal("Hello from the workspace");
    const port = new URL(url as string).port;
    expect(await cli.output("port-forward", "here", port)).to.contain(`its port ${port} is http://127.0.0.1:${port}`);
    const local = await freePort("127.0.0.1");
    const forwarding = cli.start(["port-forward", `${ada.username}/here`, `${local}:${port}`]);
    await eventually(() => forwarding.stdout().includes("until Ctrl-C"), "the port", timeout);
    expect(await (await fetch(`http://127.0.0.1:${local}`)).text()).to.equal("Hello from the workspace");
    forwarding.child.kill("SIGINT");
    expect(await forwarding.ended).to.equal(0);
  });

  it("run a command in the directory of the workspace, as its user, with the status of the command", async () => {
    const printed = await cli.output("ssh", "here", "--", "sh", "-c", "echo $PWD $HOME; id -u; exit 0");
    const [places = "", uid] = printed.trim().split("\n");
    const [place, home] = places.split(" ");
    expect(place)
      .to.equal(home)
      .and.satisfy((path: string) => path.startsWith(directory));
    expect(uid).to.equal(execFileSync("stat", ["-c", "%u", place!], { encoding: "utf8" }).trim());
    expect((await cli.run("ssh", "here", "--", "sh", "-c", "exit 7")).status).to.equal(7);
  });

  it("run one word by a shell, and several as a program with its arguments", async () => {
    expect(await cli.output("ssh", "here", "--", "echo one | tr a-z A-Z; echo $((6*7))")).to.equal("ONE\n42\n");
    expect((await cli.run("ssh", "here", "--", "exit 7")).status).to.equal(7);
    expect(await cli.output("ssh", "here", "--", "echo", "$HOME; id")).to.equal("$HOME; id\n");
  });

  it("leave interruptions to the command, and end it when they are ended", async () => {
    const script = `trap 'echo interrupted' INT; trap 'echo ended; exit 3' TERM; echo $$; while :; do sleep 0.05; done`;
    const shell = cli.start(["ssh", "here", "--", script]);
    await eventually(() => /^\d+\n/.test(shell.stdout()), "the command", timeout);
    shell.child.kill("SIGINT");
    shell.child.kill("SIGINT");
    process.kill(Number.parseInt(shell.stdout(), 10), "SIGINT");
    await eventually(() => shell.stdout().includes("interrupted"), "the interruption", timeout);
    shell.child.kill("SIGTERM");
    expect(await shell.ended).to.equal(3);
    expect(shell.stdout()).to.contain("ended");
  });

  it("say where nothing can be reached, and never take another port of this machine for that of a workspace", async () => {
    const other = createServer((socket) => socket.end("not the workspace")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    for (const words of [
      ["open", "away"],
      ["ssh", "away"],
      ["port-forward", "away", `${port}`],
    ]) {
      const { status, stderr, stdout } = await cli.run(...words);
      expect([status, stdout], words.join(" ")).to.deep.equal([1, ""]);
      expect(stderr, words.join(" ")).to.contain("cannot be reached from here. No traffic goes through the server");
    }
    other.close();
  });

  it("run ssh at the address that an agent advertises", async () => {
    const shell = await cli.json("ssh", "sshd");
    expect(shell).to.include({ kind: "ssh", host: "box.example", port: "2222" });
  });

  it("name the apps that there are, the workspace that does not run, and a wrong port", async () => {
    expect((await cli.run("open", "here", "other")).stderr).to.contain("Its apps: web.");
    await cli.output("workspaces", "stop", "sshd");
    expect((await cli.run("ssh", "sshd")).stderr).to.contain(
      `is stopped. Start it: npm run steward -- workspaces start ${ada.username}/sshd`,
    );
    expect((await cli.run("port-forward", "here", "0")).status).to.equal(2);
  });
});
