// The shell blocks of docs/audit.md, run as they are printed, in their order.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const run = promisify(execFile);

describe("docs/audit.md", () => {
  const the = world();

  it("has commands that receive the log, and continue where they ended", async () => {
    const w = the();
    const directory = await mkdtemp(join(tmpdir(), "audit-"));
    const page = await readFile("docs/audit.md", "utf8");
    const [first, second, ...others] = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!);
    expect(others).to.be.empty;
    const auditor = await w.user("collector");
    await w.grant(auditor, "auditor");
    const env = { PATH: process.env.PATH, STEWARD_URL: w.url, STEWARD_TOKEN: auditor.token };
    const collect = (block: string) => run("bash", ["-euo", "pipefail", "-c", block], { cwd: directory, env });
    const lines = async () =>
      (await readFile(join(directory, "audit.jsonl"), "utf8"))
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as { number: number; event: { id: string } });
    try {
      await eventually(async () => {
        const { stdout } = await collect(first!);
        return stdout.startsWith('{"number":1,');
      }, "the log has an event with a number");
      const before = await lines();
      await w.user("later");
      await eventually(async () => {
        await collect(second!);
        return (await lines()).length > before.length;
      }, "later events arrive");
      const numbers = (await lines()).map(({ number }) => number);
      expect(numbers).to.deep.equal(numbers.map((_, nr) => nr + 1));
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
