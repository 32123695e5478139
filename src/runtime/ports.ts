// Free TCP ports, for servers and for the programs of workspaces.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections, one of which could be taken before it is used. */
const first = 20_000;
const last = 29_999;
const attempts = 200;

/** Addresses on which a program may listen: those of the loopback interface, and the one that this machine advertises. */
type Hosts = readonly string[];

const loopback: Hosts = ["127.0.0.1"];

/** Returns a port on which no program listens at these addresses, and that is not taken. */
export async function freePort(
  hosts: Hosts | string = loopback,
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(first, last + 1);
    if (!taken.has(port) && (await isFree(port, hosts))) return port;
  }
  throw new Error(`No TCP port from ${first} to ${last} is free.`);
}

/**
 * Whether a program could listen on a port at these addresses: tried at each of them, and at no other one, which other
 * machines could reach meanwhile. Names and addresses that are not of this machine, as behind a translation of addresses, are
 * not tried.
 */
export async function isFree(port: number, hosts: Hosts | string = loopback): Promise<boolean> {
  for (const host of new Set([hosts].flat())) if (await isTaken(port, host)) return false;
  return true;
}

const isTaken = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve(code === "EADDRINUSE" || code === "EACCES"),
    );
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
