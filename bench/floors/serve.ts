import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "pg";

/** As many connections as Steward has by default. */
export const pool = new Pool({ connectionString: process.env.BENCH_DATABASE_URL, max: 20 });

/** A bare `node:http` server on a free port. Sends what `respond` returns as JSON; `undefined` is status 204. */
export function serve(respond: (request: IncomingMessage) => Promise<string | undefined>) {
  const server = createServer((request, response) => {
    respond(request).then(
      (body) => {
        if (body === undefined) return response.writeHead(204).end();
        const headers = {
          "Content-Type": "application/json; charset=utf-8",
          "Content-Length": Buffer.byteLength(body),
        };
        return response.writeHead(200, headers).end(body);
      },
      (error: Error) =>
        response.writeHead(500, { "Content-Length": Buffer.byteLength(error.message) }).end(error.message),
    );
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  return server;
}

/** The segment of the path at `position`, without its query. */
export const segment = (request: IncomingMessage, position: number): string =>
  request.url!.split("?", 1)[0]!.split("/")[position]!;

export async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text);
}
