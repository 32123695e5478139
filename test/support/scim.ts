// A SCIM client with a key of an identity provider.
import type { Answer, Client, World } from "./world.js";

export interface ScimKey {
  id: string;
  secret: string;
}

/** Creates a key as the owner. */
export async function makeScimKey(w: World, input: Record<string, unknown> = {}): Promise<ScimKey> {
  const { createScimKey } = await w
    .as(w.owner)
    .graphql(`mutation($input: CreateScimKeyInput!) { createScimKey(input: $input) { secret scimKey { id } } }`, {
      input: { name: "Test", ...input },
    });
  return { id: createScimKey.scimKey.id, secret: createScimKey.secret };
}

type Headers = Record<string, string>;

/** Requests below `/scim/v2` with a key: in `Authorization`, or in the header of the contract. */
export class ScimClient {
  constructor(
    private readonly client: Client,
    private readonly secret: string,
    private readonly header = "Authorization",
  ) {}

  get = (path: string, headers?: Headers) => this.request("GET", path, undefined, headers);
  delete = (path: string, headers?: Headers) => this.request("DELETE", path, undefined, headers);
  post = (path: string, body?: unknown, headers?: Headers) => this.request("POST", path, body, headers);
  put = (path: string, body?: unknown, headers?: Headers) => this.request("PUT", path, body, headers);
  patch = (path: string, body?: unknown, headers?: Headers) => this.request("PATCH", path, body, headers);

  request(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> {
    const sent: Headers = body === undefined ? {} : { "Content-Type": "application/scim+json" };
    return this.client.request(method, `/scim/v2${path}`, body, {
      ...sent,
      [this.header]: this.header === "Authorization" ? `Bearer ${this.secret}` : this.secret,
      ...headers,
    });
  }

  /** Lists with a filter. */
  find = (path: string, filter: string) => this.get(`${path}?filter=${encodeURIComponent(filter)}`);

  /** Changes a resource by operations. */
  change = (path: string, ...operations: unknown[]) =>
    this.patch(path, { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: operations });
}

/** A client of a new key. */
export async function scimClient(w: World, input?: Record<string, unknown>, header?: string): Promise<ScimClient> {
  const { secret } = await makeScimKey(w, input);
  return new ScimClient(w.nobody, secret, header);
}

let made = 0;

/** A user that an identity provider creates. */
export function newScimUser(more: Record<string, unknown> = {}) {
  const userName = `scim.user.${++made}@corp.example`;
  return {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName,
    externalId: `ext-${made}`,
    name: { givenName: "Ada", familyName: `Byron ${made}` },
    emails: [{ value: userName, type: "work", primary: true }],
    active: true,
    ...more,
  };
}
