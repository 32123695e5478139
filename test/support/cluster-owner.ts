// A process that owns a cluster, for tests that kill it. It prints the URL or the error as one line of JSON, and stops
// when its standard input ends, so also when the test process dies. The command "exhaust" opens files up to the limit,
// "release" closes them; each command is echoed when it is done.
// Looks inside: tests kill the process that owns a built-in Postgres.
import { closeSync, openSync } from "node:fs";
import { createInterface } from "node:readline";
import { startCluster } from "../../src/infrastructure/embedded-postgres/index.js";

const silent = () => {};
const files: number[] = [];
const commands: Record<string, () => void> = {
  exhaust: () => {
    try {
      for (;;) files.push(openSync("/dev/null", "r"));
    } catch {
      // No file descriptor is left.
    }
  },
  release: () => files.splice(0).forEach((file) => closeSync(file)),
};
try {
  const directory = process.argv[2]!;
  const cluster = await startCluster({ directory, fsync: false, log: { info: silent, warn: silent, error: silent } });
  console.log(JSON.stringify({ url: cluster.url }));
  const lines = createInterface(process.stdin);
  lines.on("line", (line) => {
    commands[line]!();
    console.log(line);
  });
  lines.once("close", () => void cluster.stop());
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
