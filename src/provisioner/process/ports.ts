// Free TCP ports for the programs of workspaces.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems use for outgoing connections. */
const first = 20_000;
const last = 29_999;
const attempts = 200;

/** Returns a port that no program listens on and that is not taken. */
export async function freePort(taken: ReadonlySet<number>): Promise<number> {
  for (let n = 0; n < attempts; n += 1) {
    const port = randomInt(first, last + 1);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new Error(`No TCP port from ${first} to ${last} is free.`);
}

/** Whether a program could listen on a port, on all addresses. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
