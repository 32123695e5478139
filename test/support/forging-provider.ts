// An OpenID provider that sends whatever ID tokens a test wants, by keys that it changes at will.
import { createHmac, createSign, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { client } from "./providers.js";

interface Key {
  kid: string;
  privateKey: KeyObject;
  publicKey: KeyObject;
}

type Claims = Record<string, unknown>;

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

export const newKey = (kid: string): Key => ({ kid, ...generateKeyPairSync("rsa", { modulusLength: 2048 }) });

/** A token that a key signs. */
export function signed({ kid, privateKey }: Key, claims: Claims, header: Claims = {}): string {
  const text = `${encoded({ alg: "RS256", kid, ...header })}.${encoded(claims)}`;
  return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey).toString("base64url")}`;
}

/** A token without signature. */
export const unsigned = (claims: Claims): string => `${encoded({ alg: "none" })}.${encoded(claims)}.`;

/** A token with an HMAC by a secret, which may be the text of a public key. */
export function hashed(secret: string, claims: Claims, header: Claims = {}): string {
  const text = `${encoded({ alg: "HS256", ...header })}.${encoded(claims)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

export class ForgingProvider {
  keys: Key[] = [newKey("first")];
  /** Makes the ID token of the next responses. */
  token: (claims: Claims) => string = (claims) => signed(this.keys[0]!, claims);
  /** Claims of the next tokens. */
  claims: Claims = {};
  /** The nonce that the server asked with. */
  nonce = "";
  /** How long responses of the token endpoint wait: until it resolves. */
  held: Promise<void> = Promise.resolve();
  readonly requested: string[] = [];
  /** More metadata. */
  metadata: object = {};
  /** The refresh token of the next response, and those that were used. None if it is empty. */
  refreshToken = "";
  readonly refreshed: string[] = [];
  /** The response to a refresh token instead of tokens, such as an error, with its status. */
  refusal: { status: number; body: object } | undefined;
  /** The response of the UserInfo endpoint; none for a failure. */
  told: Claims | undefined = {};
  /** Whether refresh tokens bring ID tokens. */
  sendsIdTokens = true;

  private constructor(
    private readonly server: Server,
    readonly issuer: string,
  ) {}

  static async open(): Promise<ForgingProvider> {
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const provider = new ForgingProvider(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("request", (request, response) => {
      void provider.#answer(request).then((body) => {
        const status = body && "status" in body ? (body.status as number) : body ? 200 : 404;
        const sent = body && "body" in body ? body.body : body;
        response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(sent));
      });
    });
    return provider;
  }

  async #answer(request: IncomingMessage): Promise<object | undefined> {
    const { pathname } = new URL(request.url!, this.issuer);
    this.requested.push(pathname);
    const now = Math.floor(Date.now() / 1000);
    const { issuer: iss } = this;
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return {
          issuer: iss,
          authorization_endpoint: `${iss}/authorize`,
          token_endpoint: `${iss}/token`,
          jwks_uri: `${iss}/keys`,
          id_token_signing_alg_values_supported: ["RS256"],
          ...this.metadata,
        };
      case "/keys":
        return {
          keys: this.keys.map(({ kid, publicKey }) => ({
            ...publicKey.export({ format: "jwk" }),
            kid,
            use: "sig",
            alg: "RS256",
          })),
        };
      case "/token": {
        await this.held;
        const form = new URLSearchParams(await textOf(request));
        const used = form.get("refresh_token");
        if (used !== null) this.refreshed.push(used);
        if (used !== null && this.refusal) return this.refusal;
        const usual = { iss, aud: client.id, sub: "someone", iat: now, exp: now + 300, nonce: this.nonce };
        const claims = { ...usual, email_verified: true, ...this.claims };
        const next = this.refreshToken === "" ? {} : { refresh_token: this.refreshToken };
        if (used === null)
          return { access_token: "access", token_type: "Bearer", id_token: this.token(claims), ...next };
        const token = this.sendsIdTokens ? { id_token: this.token({ ...claims, nonce: undefined }) } : {};
        return { access_token: "access", token_type: "Bearer", ...token, ...next };
      }
      case "/userinfo":
        return this.told && { sub: "someone", ...this.told };
      default:
        return undefined;
    }
  }

  /** Claims of a logout token. */
  logoutClaims(more: Claims = {}): Claims {
    const now = Math.floor(Date.now() / 1000);
    const events = { "http://schemas.openid.net/event/backchannel-logout": {} };
    return { iss: this.issuer, aud: client.id, iat: now, exp: now + 120, jti: randomUUID(), events, ...more };
  }

  close = (): Promise<void> =>
    new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
}
