/** Text of an HTTP request. The body must be ASCII. */
export function request(
  method: string,
  path: string,
  { token, bearer, body }: { token?: string; bearer?: string; body?: unknown } = {},
): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1"];
  if (token) lines.push(`Service-Session-Token: ${token}`);
  if (bearer) lines.push(`Authorization: Bearer ${bearer}`);
  if (text) lines.push("Content-Type: application/json", `Content-Length: ${text.length}`);
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

export const get = (path: string, token?: string) => request("GET", path, { token });

export const graphql = (query: string, variables: Record<string, unknown>, token: string) =>
  request("POST", "/graphql", { token, body: { query, variables } });

/** A form that a client sends with its credentials (RFC 6749 §2.3.1). Values must not need encoding. */
export function form(path: string, { id, secret }: ClientCredentials, fields: Record<string, string>): string {
  const text = Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
  const lines = [
    `POST ${path} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Authorization: Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${text.length}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${text}`;
}

export interface ClientCredentials {
  id: string;
  secret: string;
}
