// Requests with headers that `fetch` does not let callers set, such as `Host` and `Sec-Fetch-Site`.
import { request } from "node:http";
import type { Answer } from "./world.js";

export function browse(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { path, method, headers, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (body += chunk));
      response.on("end", () => {
        const fields = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        );
        resolve({ status: response.statusCode!, headers: new Headers(fields), body });
      });
    });
    sent.on("error", reject).end();
  });
}
