// A process that owns a cluster, for tests that kill it: prints the URL or the error as one line of JSON and stops when
// its standard input ends, so also when the test is gone.
import { startCluster } from "../../src/embedded-postgres/index.js";

const silent = () => {};
try {
  const directory = process.argv[2]!;
  const cluster = await startCluster({ directory, fsync: false, log: { info: silent, warn: silent, error: silent } });
  console.log(JSON.stringify({ url: cluster.url }));
  process.stdin.resume().once("end", () => void cluster.stop());
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
