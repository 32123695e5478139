// Preloaded into a server process: tells for how many milliseconds its event loop has worked, and how long a known piece
// of work takes there.
import { createServer } from "node:http";
import { isMainThread } from "node:worker_threads";

/** The least time, of several, in which 1 MiB of JSON with 90,000 keys is parsed. */
function yardstick() {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n}`, 1])));
  const times = Array.from({ length: 20 }, () => {
    const begun = performance.now();
    JSON.parse(text);
    return performance.now() - begun;
  });
  return Math.min(...times);
}

const busy = () => performance.eventLoopUtilization().active;

if (isMainThread)
  createServer(({ url }, response) => response.end(String(url === "/yardstick" ? yardstick() : busy())))
    .listen(Number(process.env.LOOP_PROBE_PORT), "127.0.0.1")
    .unref();
