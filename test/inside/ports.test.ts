// Free ports are looked for where programs listen, and nowhere else: not even for a moment at addresses of other machines.
// Looks inside: asks as the daemon and the server do, and watches the sockets that they open.
import { once } from "node:events";
import { createServer, Server } from "node:net";
import { expect } from "chai";
import { Services } from "../../examples/demo/services.js";
import { freePort, isFree } from "../../src/runtime/ports.js";
import { freePort as ownPort } from "../support/ports.js";
import { raw, rawRequest } from "../support/raw.js";

/** Listens at an address of this machine while `work` runs with the port, which no other program of the run takes. */
async function listening<Result>(host: string, work: (port: number) => Promise<Result>): Promise<Result> {
  const port = await ownPort();
  const server = createServer().listen(port, host);
  await once(server, "listening");
  try {
    return await work(port);
  } finally {
    server.close();
  }
}

/** The addresses that are bound while `work` runs. */
async function boundBy(work: () => Promise<unknown>): Promise<Array<string | undefined>> {
  const bound: Array<string | undefined> = [];
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const original = Server.prototype.listen;
  Server.prototype.listen = function (this: Server, ...args: unknown[]) {
    bound.push((args[0] as { host?: string }).host);
    return Reflect.apply(original, this, args) as Server;
  } as typeof original;
  try {
    await work();
  } finally {
    Server.prototype.listen = original;
  }
  return bound;
}

describe("free ports", () => {
  it("are those that are free at each of the addresses, and at no other one", async () => {
    const both = ["127.0.0.1", "127.0.0.2"];
    for (const [host, isTaken] of [
      ["127.0.0.1", true],
      ["127.0.0.2", true],
      ["0.0.0.0", true],
      ["127.0.0.3", false],
    ] as const)
      expect(await listening(host, (port) => isFree(port, both)), host).to.equal(!isTaken);
  });

  it("are tried at addresses of this machine, and not at one that others translate", async () => {
    // RFC 5737: belongs to no machine.
    expect(await isFree(await ownPort(), ["127.0.0.1", "192.0.2.1"])).to.equal(true);
    expect(await listening("127.0.0.1", (port) => isFree(port, ["127.0.0.1", "192.0.2.1"]))).to.equal(false);
  });

  it("are never tried at all addresses of the machine", async () => {
    expect(new Set(await boundBy(() => freePort()))).to.deep.equal(new Set(["127.0.0.1"]));
    const hosts = ["127.0.0.1", "127.0.0.2"];
    expect(new Set(await boundBy(() => freePort(hosts, new Set())))).to.deep.equal(new Set(hosts));
  });
});

describe("the services of the demonstration", () => {
  it("respond to names of this machine alone", async () => {
    const services = await Services.open(0);
    const send = async (host: string) => {
      const request = rawRequest("GET /board/console", [], "");
      return (await raw(services.url, request.replace("Host: localhost", `Host: ${host}`))).statuses;
    };
    try {
      expect(await send("rebound.example")).to.deep.equal([421]);
      expect(await send(`rebound.example:${services.port}`)).to.deep.equal([421]);
      expect(await send(`127.0.0.1:${services.port}`)).to.deep.equal([200]);
    } finally {
      services.close();
    }
  });
});
