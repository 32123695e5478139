// Free TCP ports, for servers and for the programs of workspaces.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections, one of which could be taken before it is used. */
const first = 20_000;
const last = 29_999;
const attempts = 200;

/** Where a program will listen: on the loopback interface, or by default on all addresses. */
type Host = "127.0.0.1";

/** Returns a port that no program listens on and that is not taken. */
export async function freePort(host?: Host, taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(first, last + 1);
    if (!taken.has(port) && (await isFree(port, host))) return port;
  }
  throw new Error(`No TCP port from ${first} to ${last} is free.`);
}

/** Whether a program could listen on a port. */
export function isFree(port: number, host?: Host): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
