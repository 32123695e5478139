import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Config } from "../config/config.js";
import { StartRefused } from "../domain/kernel/errors.js";
import { upgrades } from "./exchange.js";

/** An HTTP server with limits on the size and the duration of request headers, and on the duration of requests. */
export const createListener = (): Server =>
  createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    connectionsCheckingInterval: 1_000,
    // Clients also offer upgrades that are not supported, such as h2c: those requests stay plain HTTP.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  });

/** Listens on the configured host and port. Returns the URL. */
export async function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<string> {
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, host, resolve);
  await listening.catch((error: NodeJS.ErrnoException) => {
    const reason = reasons[error.code ?? ""];
    throw reason ? new StartRefused(reason(host, port)) : error;
  });
  server.off("error", reject);
  const { address, port: actual } = server.address() as AddressInfo;
  return `http://${address.includes(":") ? `[${address}]` : address}:${actual}`;
}

/** Explanations of why listening failed, each naming the setting to change. */
const reasons: Record<string, (host: string, port: number) => string> = {
  EADDRINUSE: (host, port) => `Another process listens on port ${port} of ${host}. STEWARD_PORT chooses another port.`,
  EACCES: (_, port) => `This user may not listen on port ${port}. STEWARD_PORT chooses another port.`,
  EADDRNOTAVAIL: (host) => `This machine does not have the address ${host}, which STEWARD_HOST sets.`,
  ENOTFOUND: (host) => `The name ${host}, which STEWARD_HOST sets, cannot be resolved.`,
};

/** Stops listening and closes all connections, also those of requests in progress. */
export function hangUp(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** Gives an upgrade a response object, so that it is routed like any request and can be rejected as plain HTTP. */
export function upgradable(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => response.socket?.end());
  socket.on("error", destroyItself);
  upgrades.set(request, { socket, head });
  return response;
}

/** Not a closure, so that an open WebSocket does not keep its upgrade request in memory. */
function destroyItself(this: Duplex): void {
  this.destroy();
}
