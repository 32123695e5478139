// Requests that no client would send: bytes on a socket, and what comes back until it closes.
import { connect } from "node:net";

/** The status of each answer on the connection, and everything that was received. */
export interface RawAnswer {
  statuses: number[];
  text: string;
}

/** Sends bytes and listens until the server closes, or is silent for a while after it answered. */
export function raw(url: string, ...parts: Array<string | Buffer>): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    const finish = () => {
      socket.destroy();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
      resolve({ statuses, text });
    };
    socket.setTimeout(500, finish);
    socket.on("data", (data) => (text += data.toString("latin1")));
    socket.on("error", finish);
    socket.on("close", finish);
    socket.on("connect", () => parts.forEach((part) => socket.write(part)));
  });
}

/** A request as text; `close` ends the connection after its answer. */
export const rawRequest = (line: string, headers: string[] = [], body = ""): string =>
  [`${line} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", body].join("\r\n");
