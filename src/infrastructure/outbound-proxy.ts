import { request as requestHttp, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

/** How to send a request: the function of Node.js, and the options that lead it through a proxy. */
export interface Passage {
  begin: typeof requestHttp;
  target: URL;
  options: Omit<RequestOptions, "headers"> & { headers?: Record<string, string> };
}

/** The proxy cannot be reached, or does not open a connection. The message names no credentials. */
export class ProxyFailure extends Error {
  override name = "ProxyFailure";
}

/**
 * Opens the way to a server through an HTTP proxy, which resolves its name: a tunnel for https (CONNECT, RFC 9110
 * §9.3.6), the absolute form for http (RFC 9112 §3.2.2). TLS ends at the server, and its certificate is verified as it
 * is without a proxy. The signal ends an attempt to open a tunnel.
 */
export async function passageThrough(proxy: URL, url: URL, signal: AbortSignal): Promise<Passage> {
  if (url.protocol === "https:")
    return { begin: requestHttps, target: url, options: await tunnelOptions(proxy, url, signal) };
  const options = { path: url.href, agent: false, headers: { ...credentialsOf(proxy), host: url.host } } as const;
  return { begin: beginFor(proxy), target: originOf(proxy), options };
}

async function tunnelOptions(proxy: URL, url: URL, signal: AbortSignal): Promise<Passage["options"]> {
  const socket = await openTunnel(proxy, `${url.hostname}:${url.port || 443}`, signal);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // RFC 6066 §3: server_name is never an address.
  const connectSecurely = () => connectTls({ socket, host, ...(!isIP(host) && { servername: host }) });
  // Without an agent, Node.js takes 80 for the default port, and would name the port.
  return { createConnection: connectSecurely, headers: { host: url.host } };
}

function openTunnel(proxy: URL, authority: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = { host: authority, ...credentialsOf(proxy) };
    const options = { method: "CONNECT", path: authority, headers, agent: false, signal } as const;
    const asked = beginFor(proxy)(originOf(proxy), options);
    asked.on("error", (error) => {
      if (signal.aborted) reject(error);
      else reject(new ProxyFailure(`The outbound proxy failed: ${error.message}`, { cause: error }));
    });
    asked.on("connect", ({ statusCode }, socket: Socket, head) => {
      if (statusCode === 200 && head.length === 0) return resolve(socket);
      socket.destroy();
      reject(new ProxyFailure(`The outbound proxy opens no connection to ${authority}: status ${statusCode}.`));
    });
    // A response without a tunnel ends like others, should the proxy not treat CONNECT as one.
    asked.on("response", (response) => {
      response.resume();
      reject(new ProxyFailure(`The outbound proxy does not support CONNECT: status ${response.statusCode}.`));
    });
    asked.end();
  });
}

const beginFor = ({ protocol }: URL) => (protocol === "https:" ? requestHttps : requestHttp);

/** The URL of the proxy without its credentials. */
const originOf = ({ origin }: URL): URL => new URL(origin);

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(pair).toString("base64")}` };
}
