/** Text of an HTTP request. The body must be ASCII. */
export function request(
  method: string,
  path: string,
  { token, body }: { token?: string; body?: unknown } = {},
): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1"];
  if (token) lines.push(`Service-Session-Token: ${token}`);
  if (text) lines.push("Content-Type: application/json", `Content-Length: ${text.length}`);
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

export const get = (path: string, token?: string) => request("GET", path, { token });

export const graphql = (query: string, variables: Record<string, unknown>, token: string) =>
  request("POST", "/graphql", { token, body: { query, variables } });
