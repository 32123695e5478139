// Sends operations over both surfaces.
import type { Request } from "./operation-requests.js";
import type { Operation, Place } from "./operations.js";
import type { Client } from "./world.js";

/** The result of a request: `done` or the error code, and the missing scopes. */
interface Outcome {
  code: string;
  scopes?: string;
}

const codes: Record<number, string> = {
  400: "BAD_USER_INPUT",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
};

export type Headers = Record<string, string>;

async function overGraphql(client: Client, query: string, headers?: Headers): Promise<Outcome> {
  const { body, status } = await client.post("/graphql", { query }, headers);
  const extensions = body.errors?.[0].extensions;
  if (status === 401) return { code: "UNAUTHENTICATED" };
  return { code: extensions?.code ?? "done", scopes: extensions?.requiredScopes?.join(" ") };
}

async function overRest(client: Client, [method, path, body]: Request, headers?: Headers): Promise<Outcome> {
  const { status, headers: sent } = await client.request(method, path, body, {
    Accept: "application/json",
    ...headers,
  });
  const challenge = /insufficient_scope", scope="(.*)"/.exec(sent.get("www-authenticate") ?? "");
  return { code: status < 400 ? "done" : (codes[status] ?? String(status)), scopes: challenge?.[1] };
}

/** Returns the operation as a request function for each surface that has it. */
export const surfaces = ({ document, rest, scopes, restScopes }: Operation) => [
  ...(document ? [{ scopes, send: (c: Client, p: Place, h?: Headers) => overGraphql(c, document(p), h) }] : []),
  ...(rest ? [{ scopes: restScopes, send: (c: Client, p: Place, h?: Headers) => overRest(c, rest(p), h) }] : []),
];

const nowhere = {} as Place;

/** The document of an operation, else the method of its row; distinguishes changes from reads. */
export const verbOf = ({ document, rest }: Operation) => document?.(nowhere) ?? rest!(nowhere)[0];
