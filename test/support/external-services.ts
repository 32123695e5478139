// A service on this machine at which users link accounts. It behaves like a provider unless a handler is replaced.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { setColumns, setTimes } from "./tables.js";
import type { Client, World } from "./world.js";

/** A request that the service received. */
export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  form: URLSearchParams;
  text: string;
  headers: IncomingMessage["headers"];
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is text. */
  body?: unknown;
}

type Handler = (seen: Seen, response: ServerResponse) => Reply | undefined | Promise<Reply | undefined>;

export const clientSecret = "a-secret-of-the-client";

export class ExternalService {
  readonly seen: Seen[] = [];
  /** Replaces the behavior of a path. A handler that returns nothing has taken over the response. */
  handlers: Record<string, Handler> = {};
  /** Access tokens that are valid. */
  readonly valid = new Set<string>();
  /** Refresh tokens, each valid once. */
  readonly refreshable = new Set<string>();
  /** Seconds that tokens live; undefined for tokens that do not expire. */
  expiresIn: number | undefined = 3600;
  isApproved = false;
  account: unknown = {
    id: 7,
    login: "octo",
    name: "Octo Cat",
    avatar_url: "https://img.example.com/7",
    html_url: "javascript:1",
  };
  readonly #codes = new Map<string, string | null>();
  #issued = 0;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(): Promise<ExternalService> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const service = new ExternalService(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", (request, response) => void service.#respond(request, response));
    return service;
  }

  /** The configuration of a provider at this service. */
  provider = (changes: Record<string, unknown> = {}) => providerAt(this.url, changes);

  /** The requests for a path, such as `/token`, with a grant type. */
  to = (path: string, grant?: string): Seen[] =>
    this.seen.filter((each) => each.path === path && (!grant || each.form.get("grant_type")?.endsWith(grant)));

  /** Forgets requests and replaced handlers. */
  reset(): void {
    this.seen.length = 0;
    this.handlers = {};
    this.expiresIn = 3600;
    this.isApproved = false;
  }

  close = (): Promise<void> =>
    new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });

  /** Returns a token response. */
  tokens = (): Record<string, unknown> => {
    const access = `access-${++this.#issued}`;
    const refresh = `refresh-${this.#issued}`;
    this.valid.add(access);
    this.refreshable.add(refresh);
    return {
      access_token: access,
      refresh_token: refresh,
      token_type: "Bearer",
      scope: "read",
      expires_in: this.expiresIn,
    };
  };

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const url = new URL(request.url!, this.url);
    const { pathname: path, searchParams: query } = url;
    const form = new URLSearchParams(text);
    const seen = { method: request.method!, path, query, form, text, headers: request.headers };
    this.seen.push(seen);
    const handler = Object.hasOwn(this.handlers, path) ? this.handlers[path]! : this.#usual;
    const reply = await handler(seen, response);
    if (!reply) return;
    const { status = 200, headers = {}, body = {} } = reply;
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }

  #usual: Handler = (seen) => {
    switch (seen.path) {
      case "/authorize":
        return this.#authorize(seen);
      case "/token":
        return this.#exchange(seen);
      case "/device":
        return {
          body: {
            device_code: `device-${++this.#issued}`,
            user_code: "ABCD-EFGH",
            verification_uri: `${this.url}/enter`,
            interval: 1,
          },
        };
      case "/user":
        return this.valid.has(seen.headers.authorization?.slice(7) ?? "") ? { body: this.account } : { status: 401 };
      case "/revoke":
        this.valid.delete(seen.form.get("token")!.replace("refresh", "access"));
        return {};
      default:
        return { status: 404 };
    }
  };

  #authorize({ query }: Seen): Reply {
    const code = `code-${++this.#issued}`;
    this.#codes.set(code, query.get("code_challenge"));
    const back = new URL(query.get("redirect_uri")!);
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state")!);
    return { status: 302, headers: { Location: back.href } };
  }

  #exchange({ form }: Seen): Reply {
    const challenge = this.#codes.get(form.get("code") ?? "");
    const verifier = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (form.get("client_secret") !== clientSecret) return { status: 401, body: { error: "invalid_client" } };
    switch (form.get("grant_type")) {
      case "authorization_code":
        return this.#codes.delete(form.get("code")!) && (challenge === null || challenge === verifier)
          ? { body: this.tokens() }
          : { status: 400, body: { error: "invalid_grant" } };
      case "refresh_token":
        return this.refreshable.delete(form.get("refresh_token")!)
          ? { body: this.tokens() }
          : { status: 400, body: { error: "invalid_grant" } };
      default:
        // In the manner of GitHub.
        return { body: this.isApproved ? this.tokens() : { error: "authorization_pending" } };
    }
  }
}

/** The configuration of a provider, whose endpoints are below a URL. */
export const providerAt = (url: string, changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: "custom",
  id: "lab",
  client_id: "steward",
  client_secret: clientSecret,
  display_name: "The lab",
  auth_url: `${url}/authorize`,
  token_url: `${url}/token`,
  validate_url: `${url}/user`,
  revoke_url: `${url}/revoke`,
  device_code_url: `${url}/device`,
  device_flow: true,
  scopes: ["read", "write"],
  ...changes,
});

/** Settings of servers with these providers. */
export const externalAuth = (...providers: Array<Record<string, unknown>>): Record<string, string> => ({
  STEWARD_EXTERNAL_AUTH: JSON.stringify(providers),
});

const cookieIn = (headers: Headers): string => headers.getSetCookie()[0]?.split(";")[0] ?? "";

/** A browser's visit to a provider, up to the URL to which the provider sends it back. */
export interface Journey {
  /** The callback, as a path with its query. */
  callback: string;
  cookie: string;
}

/** Starts to link an account in a browser. */
export async function setOut(client: Client, id = "lab", query = ""): Promise<Journey> {
  const begun = await client.get(`/external-auth/${id}/callback${query}`);
  expect(begun.status, JSON.stringify(begun.body)).to.equal(303);
  const visited = await fetch(begun.headers.get("location")!, { redirect: "manual" });
  const back = new URL(visited.headers.get("location")!);
  return { callback: back.pathname + back.search, cookie: cookieIn(begun.headers) };
}

export const comeBack = (client: Client, { callback, cookie }: Journey) => client.get(callback, { cookie });

/** Links an account in a browser. */
export async function link(client: Client, id = "lab"): Promise<void> {
  const finished = await comeBack(client, await setOut(client, id));
  expect(finished.status, JSON.stringify(finished.body)).to.equal(303);
}

/** Makes the stored tokens of a user, or of all users, expire, and forgets validations. */
export const expire = async (w: World, user?: { id: string }): Promise<void> => {
  const links = user ? { user_id: user.id } : {};
  await setTimes(w, "external_auth_links", links, { expires_at: "-1 s" });
  await setColumns(w, "external_auth_links", links, { validated_at: null });
};
