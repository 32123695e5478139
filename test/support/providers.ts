// Identity providers on this machine: a real one that speaks OpenID Connect, and the part of GitHub that sign-in uses.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** The data of a person at a provider. */
export interface Subject {
  email?: string;
  /** A boolean; some providers send text. */
  email_verified?: boolean | string | null;
  name?: string;
  preferred_username?: string;
  [claim: string]: unknown;
}

/** How a provider differs from one whose issuer is its origin. */
export interface Layout {
  /** Path of the issuer in ID tokens. Default: none. */
  path?: string;
  /** Path of the issuer in the settings of the server, under which the metadata are. Default: `path`. */
  configured?: string;
  /** The issuer that the metadata name, by its path. Default: `path`. */
  named?: string;
}

export const client = { id: "steward", secret: "a-secret-between-the-two-of-them" };

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

const newSigningKey = () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };
};

const stopping = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** An OpenID Connect provider. Its login page accepts any name and uses it as the subject. */
export class OidcProvider {
  readonly subjects = new Map<string, Subject>();
  /** The paths that were requested. */
  readonly requested: string[] = [];
  /** How long its token endpoint waits: until it resolves. */
  held: Promise<void> = Promise.resolve();
  /** Signs by another key from now on, and publishes that one alone. */
  rotateKeys: () => void = () => {};

  private constructor(
    private readonly server: Server,
    /** The issuer in ID tokens. */
    readonly issuer: string,
    /** The issuer in the settings of the server. */
    private readonly configured: string,
  ) {}

  /**
   * `callback` is the redirect URI of the server, which providers must know in advance. `metadata` and `features` are
   * added to those of the client and of the provider. `layout` are the spellings of its issuer.
   */
  static async open(
    callback: () => string,
    {
      metadata = {},
      features = {},
      layout = {},
      ...more
    }: { metadata?: object; features?: object; layout?: Layout } & Record<string, unknown> = {},
  ): Promise<OidcProvider> {
    const server = createServer();
    const origin = await listening(server);
    const { path = "", configured = path, named = path } = layout;
    const provider = new OidcProvider(server, origin + path, origin + configured);
    const configuration = {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          // The provider accepts redirect URIs anywhere; it learns the current one before each visit.
          redirect_uris: ["http://localhost:1/login/oidc/callback"],
          ...metadata,
        },
      ],
      pkce: { required: () => true },
      claims: { email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
      features: { devInteractions: { enabled: true }, ...features },
      ...more,
      cookies: { keys: ["a key of the provider"] },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...provider.subjects.get(id) }),
      }),
    };
    /** Begins with other settings, as after a restart. */
    const begin = (changes: object = {}) => {
      const oidc = new Provider(provider.issuer, { ...configuration, ...changes });
      oidc.Client.prototype.redirectUriAllowed = (uri: string) => uri === callback();
      return oidc.callback();
    };
    let answer = begin();
    provider.rotateKeys = () => (answer = begin({ jwks: { keys: [newSigningKey()] } }));
    const wellKnown = "/.well-known/openid-configuration";
    const published = configured.replace(/\/$/, "") + wellKnown;
    server.on("request", (request, response) => {
      const { pathname } = new URL(request.url!, origin);
      provider.requested.push(pathname);
      if (pathname === "/token") return void provider.held.then(() => answer(request, response));
      if (published === wellKnown || request.url !== published) return answer(request, response);
      void fetch(origin + wellKnown)
        .then((found) => found.json())
        .then((found) => {
          response.writeHead(200, { "Content-Type": "application/json" });
          response.end(JSON.stringify({ ...(found as object), issuer: origin + named }));
        });
    });
    return provider;
  }

  get settings(): Record<string, string> {
    return {
      STEWARD_OIDC_ISSUER_URL: this.configured,
      STEWARD_OIDC_CLIENT_ID: client.id,
      STEWARD_OIDC_CLIENT_SECRET: client.secret,
    };
  }

  close = (): Promise<void> => stopping(this.server);
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
};

/** GitHub as sign-in sees it. Every visitor is signed in as `user` without a prompt. */
export class GithubServer {
  user = { id: 1, login: "octo", name: "Octo Cat" };
  emails: Array<{ email: string; primary: boolean; verified: boolean }> = [];
  /** Code challenges of the issued codes (RFC 7636). */
  readonly #codes = new Map<string, string>();

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(): Promise<GithubServer> {
    const server = createServer();
    const github = new GithubServer(server, await listening(server));
    server.on("request", (request, response) => {
      void github.#answer(request).then(({ status = 200, headers = {}, body }) => {
        response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
      });
    });
    return github;
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ status?: number; headers?: Record<string, string>; body?: unknown }> {
    const url = new URL(request.url!, this.url);
    switch (url.pathname) {
      case "/login/oauth/authorize": {
        const code = `code-${this.#codes.size}`;
        this.#codes.set(code, url.searchParams.get("code_challenge")!);
        const back = new URL(url.searchParams.get("redirect_uri")!);
        back.searchParams.set("code", code);
        back.searchParams.set("state", url.searchParams.get("state")!);
        return { status: 302, headers: { Location: back.href } };
      }
      case "/login/oauth/access_token": {
        const form = new URLSearchParams(await textOf(request));
        const challenge = this.#codes.get(form.get("code")!);
        const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(form.get("code_verifier")!));
        const isRight =
          Buffer.from(digest).toString("base64url") === challenge && form.get("client_secret") === client.secret;
        // GitHub reports errors with the status 200.
        return {
          body: isRight
            ? { access_token: "gho_x", token_type: "bearer", scope: "read:user" }
            : { error: "bad_verification_code" },
        };
      }
      case "/api/v3/user":
        return { body: this.user };
      case "/api/v3/user/emails":
        return { body: this.emails };
      default:
        return { status: 404, body: {} };
    }
  }

  get settings(): Record<string, string> {
    return {
      STEWARD_GITHUB_URL: this.url,
      STEWARD_GITHUB_CLIENT_ID: client.id,
      STEWARD_GITHUB_CLIENT_SECRET: client.secret,
    };
  }

  close = (): Promise<void> => stopping(this.server);
}
