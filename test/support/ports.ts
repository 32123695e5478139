// Free TCP ports of this process: other processes of the run get others, so that none takes a port before it is used.
// Looks inside: asks as the program does whether a port is free.
import { isFree } from "../../src/runtime/ports.js";

/**
 * Below the ports that programs choose by themselves, and those that systems give to outgoing connections; above 10080, the
 * last port that `fetch` and browsers reject (Fetch Standard, port blocking).
 */
const first = 10_100;
const each = 1_980;
const processes = 5;

/** Mocha numbers its workers. Without workers, the process has the last ports. */
const own = Number(process.env.MOCHA_WORKER_ID ?? processes - 1) % processes;
let next = Math.floor(Math.random() * each);

/** Returns a port on which no program listens. */
export async function freePort(host?: "127.0.0.1"): Promise<number> {
  for (let attempt = 0; attempt < each; attempt++) {
    const port = first + own * each + (next++ % each);
    if (await isFree(port, host)) return port;
  }
  throw new Error(`This process has no free TCP port.`);
}
