// Requests that no HTTP client would send: writes raw bytes to a socket and collects what comes back until it closes.
import { connect } from "node:net";

/** The status of each response on the connection, and everything that was received. */
export interface RawAnswer {
  statuses: number[];
  text: string;
}

/** Sends bytes and reads until the server closes the connection or is silent for ten seconds. */
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
    socket.setTimeout(10_000, finish);
    socket.on("data", (data) => (text += data.toString("latin1")));
    socket.on("error", finish);
    socket.on("close", finish);
    socket.on("connect", () => parts.forEach((part) => socket.write(part)));
  });
}

/** A request as text, with `Connection: close`. */
export const rawRequest = (line: string, headers: string[] = [], body = ""): string =>
  [`${line} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", body].join("\r\n");
