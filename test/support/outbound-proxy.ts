// An HTTP proxy on this machine, as companies have them at the edge of their networks: tunnels for https, the absolute
// form for http. It resolves names by itself: those below `outside.test` are servers on this machine.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

const file = (name: string) => readFileSync(new URL(`certificates/outside.${name}`, import.meta.url), "utf8");

const listening = async (server: Server): Promise<number> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
};

const stopping = async (server: Server & { closeAllConnections?(): void }): Promise<void> => {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections?.();
  await closed;
};

/** Servers of the internet: what they respond, by host and path. */
export type Internet = Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>;

export class OutboundProxy {
  /** The requests to it: `CONNECT host:port`, or the method and the absolute URL. */
  readonly asked: string[] = [];
  /** Its connections that are open. */
  readonly open = new Set<Socket>();
  /** Replaces the response to CONNECT: a status, or none at all. */
  refusal: number | "silence" | undefined;
  #secure!: { server: Server; port: number };
  #plain!: { server: Server; port: number };
  #port!: number;
  readonly #server = createServer((request, response) => this.#forward(request, response));

  private constructor(private readonly credentials: string) {}

  /** Starts the proxy, which demands these credentials, and the servers that it leads to. */
  static async start(credentials: string, internet: Internet): Promise<OutboundProxy> {
    const proxy = new OutboundProxy(credentials);
    const serve = (request: IncomingMessage, response: ServerResponse) => {
      const path = request.headers.host! + request.url!.split("?", 1)[0]!;
      const respond = internet[path];
      if (respond) respond(request, response);
      else response.writeHead(404).end();
    };
    const secure = createTlsServer({ cert: file("crt"), key: file("key") }, serve);
    const plain = createServer(serve);
    proxy.#secure = { server: secure, port: await listening(secure) };
    proxy.#plain = { server: plain, port: await listening(plain) };
    proxy.#server.on("connect", (request, socket: Socket) => proxy.#tunnel(request, socket));
    proxy.#server.on("connection", (socket) => {
      proxy.open.add(socket);
      socket.on("close", () => proxy.open.delete(socket)).on("error", () => {});
      // Sockets of HTTP servers stay half open otherwise.
      socket.on("end", () => socket.end());
    });
    proxy.#port = await listening(proxy.#server);
    return proxy;
  }

  /** The URL with credentials. */
  get url(): string {
    return `http://${this.credentials}@127.0.0.1:${this.#port}`;
  }

  /** The URL with other credentials. */
  urlWith = (credentials: string): string => this.url.replace(this.credentials, credentials);

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await Promise.all([this.#server, this.#secure.server, this.#plain.server].map(stopping));
  }

  #isWelcome({ headers }: IncomingMessage): boolean {
    return headers["proxy-authorization"] === `Basic ${btoa(decodeURIComponent(this.credentials))}`;
  }

  #tunnel(request: IncomingMessage, socket: Socket): void {
    this.asked.push(`CONNECT ${request.url}`);
    const end = (status: number) => void socket.resume().end(`HTTP/1.1 ${status} Failed\r\nContent-Length: 0\r\n\r\n`);
    if (this.refusal === "silence") return void socket.resume();
    if (this.refusal) return end(this.refusal);
    if (!this.#isWelcome(request)) return end(407);
    if (!/^[a-z-]+\.outside\.test:443$/.test(request.url!)) return end(502);
    const target = connect(this.#secure.port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => socket.destroy()).on("close", () => socket.destroySoon());
    socket.on("close", () => target.destroy());
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    this.asked.push(`${request.method} ${request.url}`);
    if (!this.#isWelcome(request)) return void response.writeHead(407).end();
    const { hostname, host, pathname, search } = new URL(request.url!);
    if (!hostname.endsWith(".outside.test")) return void response.writeHead(502).end();
    const { "proxy-authorization": _, ...rest } = request.headers;
    const { method } = request;
    const options = { port: this.#plain.port, method, path: pathname + search, headers: { ...rest, host } };
    const sent = requestHttp({ host: "127.0.0.1", ...options }, (received) => {
      response.writeHead(received.statusCode!, received.headers);
      received.pipe(response);
    });
    request.pipe(sent);
  }
}

/** Trusts the certificate of the servers below `outside.test` in this process. Returns the function that ends it. */
export function trustOutside(): () => void {
  const usual = getCACertificates("default");
  setDefaultCACertificates([...usual, file("crt")]);
  return () => setDefaultCACertificates(usual);
}
