// The programs, started in an old Node.js: they run in the one that npm has installed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { freePort } from "../support/ports.js";
import { encryptionKeys, ownerPassword } from "../support/app.js";
import { createDatabase } from "../support/cluster.js";
import { eventually } from "../support/watchers.js";

/** A Node.js 20 or 21 on this machine. */
const installed = [...new Set(process.env.PATH!.split(":"))]
  .map((directory) => join(directory, "node"))
  .find((file) => /^v2[01]\./.test(spawnSync(file, ["--version"], { encoding: "utf8" }).stdout ?? ""));

/** Takes from the first process what Node.js 20 does not have. The process that it starts is unchanged. */
const old = `import module from "node:module";
if (!process.env.AGAIN) {
  process.env.AGAIN = "1";
  Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });
  delete Promise.withResolvers;
  delete module.enableCompileCache;
  module.syncBuiltinESMExports();
}`;

const kinds: Record<string, string[] | undefined> = {
  "that is installed": installed ? [installed] : undefined,
  "that is simulated": [process.execPath, `--import=data:text/javascript,${encodeURIComponent(old)}`],
};

for (const [kind, command] of Object.entries(kinds))
  describe(`an old Node.js ${kind}`, () => {
    before(function () {
      if (!command) this.skip();
    });

    function run(script: string, words: string[], settings: NodeJS.ProcessEnv = {}) {
      const [file, ...options] = command!;
      const child = spawn(file!, [...options, script, ...words], {
        env: { PATH: process.env.PATH, ...settings },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const printed = { stdout: "", stderr: "" };
      for (const name of ["stdout", "stderr"] as const)
        child[name].on("data", (chunk: Buffer) => (printed[name] += chunk.toString()));
      return { child, printed, ended: once(child, "close").then(([status]) => status as number) };
    }

    for (const script of ["dist/main.js", "dist/cli/main.js", "dist/provisioner/main.js", "dist/agent.mjs"])
      it(`runs ${script} in the Node.js from npm`, async () => {
        const { ended, printed } = run(script, ["--version"]);
        expect([await ended, printed.stderr]).to.deep.equal([0, ""]);
        expect(printed.stdout).to.match(/^0\.1\.0( \([0-9a-f]{12}(-dirty)?\))?\n(Time zone data .+\n)?$/);
        const misused = run(script, ["--unknown"]);
        expect(await misused.ended, "the exit status").to.equal(2);
        expect(misused.printed.stderr).to.include("--unknown");
      });

    it("runs the server until a signal", async () => {
      const database = await createDatabase();
      const port = await freePort("127.0.0.1");
      const { child, ended, printed } = run("dist/main.js", [], {
        STEWARD_DATABASE_URL: database.url,
        STEWARD_PORT: String(port),
        STEWARD_ENCRYPTION_KEYS: encryptionKeys,
        STEWARD_ADMIN_PASSWORD: ownerPassword,
      });
      try {
        await eventually(
          () => printed.stdout.includes("listening"),
          () => `it serves: ${printed.stdout}${printed.stderr}`,
          60_000,
        );
        expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).to.equal(200);
        child.kill("SIGTERM");
        expect(await ended, printed.stderr).to.equal(0);
      } finally {
        child.kill("SIGKILL");
        await ended;
        await database.drop();
      }
    });

    it("says which Node.js it needs, where npm has installed none", async () => {
      const directory = await mkdtemp(join(tmpdir(), "steward-agent-"));
      try {
        const file = join(directory, "agent.mjs");
        await copyFile("dist/agent.mjs", file);
        const { ended, printed } = run(file, ["--version"]);
        expect(await ended).to.equal(1);
        expect(printed.stderr).to.match(/^Steward requires Node\.js 22\.0 or newer, but this is 20\.\d+\.\d+\.\n$/);
      } finally {
        await rm(directory, { recursive: true });
      }
    });
  });
