// Preloaded into a server process: tells how many milliseconds of CPU its event loop has used, and how many a known piece
// of work takes there. Not the time of a clock, which passes also while other processes have the CPU.
import { createServer } from "node:http";
import { isMainThread } from "node:worker_threads";

/** The least time, of several, in which 1 MiB of JSON with 90,000 keys is parsed. */
function yardstick() {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 90_000 }, (_, n) => [`k${n}`, 1])));
  const times = Array.from({ length: 5 }, () => {
    const begun = busy();
    JSON.parse(text);
    return busy() - begun;
  });
  return Math.min(...times);
}

function busy() {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

if (isMainThread)
  createServer(({ url }, response) => response.end(String(url === "/yardstick" ? yardstick() : busy())))
    .listen(Number(process.env.LOOP_PROBE_PORT), "127.0.0.1")
    .unref();
