// A world to tell stories in: a server, its users, and flat verbs over real HTTP.
import { Client as Connection } from "pg";
import { hashSecret, newToken } from "./token-rows.js";
import { newId, randomText } from "./ids.js";
import { type App, startServer } from "./app.js";
import { cloneDatabase, type TestDatabase } from "./cluster.js";
import type { Patterns, Results } from "./results.gql.js";
import { insertAgent, insertTemplate, insertWorkspace } from "./workspaces.js";

// What tests read whose type is not known to TypeScript: bodies of REST, which are compared with the contract elsewhere, objects
// of JSON, such as documents of templates and differences of audit events, and messages of other protocols. The results of
// GraphQL documents have types: see `ResultOf`.
// oxlint-disable-next-line typescript/no-explicit-any -- see above
export type Anything = any;

export interface Answer {
  status: number;
  headers: Headers;
  /** Parsed if it is JSON, else text. */
  body: Anything;
}

export interface Person {
  id: string;
  username: string;
  email: string;
  token: string;
}

/** The agent of a workspace, with its credential. */
export interface Agent {
  id: string;
  name: string;
  token: string;
}

/** The data of the document with this text. */
export type ResultOf<Text extends string> = Text extends keyof Results
  ? Results[Text]
  : Text extends keyof Patterns
    ? Patterns[Text]
    : Anything;

/** An error of a GraphQL response. */
interface GraphqlFault {
  message: string;
  path?: unknown[];
  extensions: Record<string, Anything> & { code: string; validations: Array<{ field: string; detail: string }> };
}

/** All errors of a GraphQL response. */
export class GraphqlFailure extends Error {
  constructor(readonly errors: GraphqlFault[]) {
    super(errors.map(({ message }) => message).join("; "));
  }
  get code(): string {
    return this.errors[0]!.extensions.code;
  }
}

/** OAuth2 access tokens are accepted as bearer tokens only. */
export const credentialHeader = (token: string): Record<string, string> =>
  token.startsWith("stw_oa_") ? { Authorization: `Bearer ${token}` } : { "Service-Session-Token": token };

/** A client with one credential, or an anonymous one. */
export class Client {
  constructor(
    private readonly base: string,
    readonly token?: string,
  ) {}

  get = (path: string, headers?: Record<string, string>) => this.request("GET", path, undefined, headers);
  delete = (path: string, headers?: Record<string, string>) => this.request("DELETE", path, undefined, headers);
  post = (path: string, body?: unknown, headers?: Record<string, string>) => this.request("POST", path, body, headers);
  put = (path: string, body?: unknown, headers?: Record<string, string>) => this.request("PUT", path, body, headers);
  patch = (path: string, body?: unknown, headers?: Record<string, string>) =>
    this.request("PATCH", path, body, headers);

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(this.base + path, {
      method,
      redirect: "manual",
      headers: {
        ...(this.token && credentialHeader(this.token)),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") && text !== "";
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Returns the data of an operation; throws a GraphqlFailure when there are errors. */
  async graphql<Text extends string>(query: Text, variables?: Record<string, unknown>): Promise<ResultOf<Text>> {
    const { body } = await this.post("/graphql", { query, variables });
    if (body.errors) throw new GraphqlFailure(body.errors);
    return body.data;
  }

  /** Returns the failure of an operation that must fail. */
  async failure(query: string, variables?: Record<string, unknown>): Promise<GraphqlFailure> {
    try {
      await this.graphql(query, variables);
    } catch (error) {
      if (error instanceof GraphqlFailure) return error;
      throw error;
    }
    throw new Error("The operation succeeded.");
  }
}

/** The password of all users of worlds but the owner. */
export const userPassword = "users-have-quite-a-long-password";
/** Its hash, by the memory of the hashes of a server. */
const userPasswordHashes: Record<number, Promise<string>> = {};

export class World {
  readonly nobody: Client;
  #made = 0;
  /** The template version of inserted workspaces, by organization. */
  readonly #versions: Record<string, Promise<string>> = {};

  constructor(
    readonly app: App,
    readonly database: TestDatabase,
    readonly owner: Person,
    readonly defaultOrganization: string,
  ) {
    this.nobody = new Client(app.url);
  }

  get url(): string {
    return this.app.url;
  }

  as = ({ token }: Pick<Person, "token">): Client => new Client(this.app.url, token);

  /** Signs a user in and returns the session token. */
  login = async (email: string, password: string): Promise<string> => {
    const { status, body } = await this.nobody.post("/api/v2/users/login", { email, password });
    if (status !== 201) throw new Error(`Login of ${email} failed with ${status}: ${JSON.stringify(body)}`);
    return body.session_token;
  };

  /** Begins a session of a user without its password, which would be hashed slowly. */
  session = (userId: string): Promise<string> => sessionOf(this.app, userId);

  /** Creates an API token of a user with some scopes only. */
  scoped = async (person: Pick<Person, "token">, ...scopes: string[]): Promise<Pick<Person, "token">> => {
    const { createApiKey } = await this.as(person).graphql(
      `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { token } }`,
      { input: { name: `narrow-${++this.#made}`, scopes } },
    );
    return { token: createApiKey.token };
  };

  /** Creates members of the default organization, each signed in. Names get a numeric suffix. */
  users = (...names: string[]): Promise<Person[]> => Promise.all(names.map((name) => this.user(name)));

  user = async (
    name: string,
    organizationIds: string[] = [this.defaultOrganization],
    loginType: "PASSWORD" | "OIDC" | "GITHUB" = "PASSWORD",
  ): Promise<Person> => {
    const username = `${name}-${++this.#made}`;
    const email = `${username}@example.com`;
    const { createUser } = await this.as(this.owner).graphql(
      `mutation($input: CreateUserInput!) { createUser(input: $input) { user { id } } }`,
      { input: { email, username, loginType: loginType === "PASSWORD" ? "NONE" : loginType, organizationIds } },
    );
    const { id } = createUser.user;
    if (loginType === "PASSWORD") await this.#setPassword(id);
    return { id, username, email, token: await this.session(id) };
  };

  #setPassword = async (id: string): Promise<void> => {
    const { passwords, database, config } = this.app.services;
    // Hashed once for all: each usual hash takes 35 ms of CPU.
    const hash = (userPasswordHashes[config.hashCost.memory] ??= passwords.hash(userPassword));
    const setPassword = "update users set login_type = 'password', password_hash = $2 where id = $1";
    await database.pool.query(setPassword, [id, await hash]);
  };

  /** Sets roles: site roles by name, or roles in the default organization if the names begin with `organization-`. */
  grant = async ({ id }: Pick<Person, "id">, ...roles: string[]): Promise<void> => {
    const named = roles.map((role) => role.toUpperCase().replaceAll("-", "_"));
    const isSite = !roles[0]?.startsWith("organization-");
    const mutation = isSite
      ? `mutation($user: String!, $roles: [RoleName!]!) { setUserRoles(input: { user: $user, roles: $roles }) { user { id } } }`
      : `mutation($user: String!, $roles: [RoleName!]!) {
           setOrganizationMemberRoles(input: { organization: "default", user: $user, roles: $roles }) { __typename } }`;
    await this.as(this.owner).graphql(mutation, { user: id, roles: named });
  };

  /** Creates another organization without members. */
  organization = async (name = `org-${++this.#made}`): Promise<{ id: string; name: string }> => {
    const { createOrganization } = await this.as(this.owner).graphql(
      `mutation($name: String!) { createOrganization(input: { name: $name }) { organization { id name } } }`,
      { name },
    );
    return createOrganization.organization;
  };

  /** Creates a group as the owner, by default in the default organization. */
  group = async (
    name = `group-${++this.#made}`,
    {
      members = [],
      organization = this.defaultOrganization,
    }: { members?: Array<Pick<Person, "id">>; organization?: string } = {},
  ): Promise<{ id: string; name: string }> => {
    const made = await this.as(this.owner).post(`/api/v2/organizations/${organization}/groups`, { name });
    if (made.status !== 201) throw new Error(`Group ${name}: ${made.status} ${JSON.stringify(made.body)}`);
    if (members.length > 0) {
      const changed = await this.as(this.owner).patch(`/api/v2/groups/${made.body.id}`, {
        add_users: members.map(({ id }) => id),
      });
      if (changed.status !== 200)
        throw new Error(`Members of ${name}: ${changed.status} ${JSON.stringify(changed.body)}`);
    }
    return made.body;
  };

  /** Creates a workspace with one agent, as if it had been started. */
  workspace = async (
    owner: Pick<Person, "id">,
    { name = `box-${++this.#made}`, organization = this.defaultOrganization } = {},
  ): Promise<{ id: string; name: string; agent: Agent }> => {
    const id = newId();
    const { pool } = this.app.services.database;
    const version = await (this.#versions[organization] ??= insertTemplate(pool, organization, this.owner.id));
    await insertWorkspace(pool, id, owner.id, name, version);
    return { id, name, agent: await this.agent({ id }) };
  };

  /** Adds an agent to a workspace. */
  agent = async (workspace: { id: string }, name = "main"): Promise<Agent> => {
    const id = newId();
    const secret = randomText(43);
    await insertAgent(this.app.services.database.pool, id, workspace.id, name, hashSecret(secret));
    return { id, name, token: `stwa_${secret}` };
  };

  /** Opens a connection without timeouts, to fill tables. */
  unlimited = async (): Promise<Connection> => {
    const client = new Connection(this.database.url);
    await client.connect();
    return client;
  };

  close = async (): Promise<void> => {
    await this.app.close();
    await this.database.drop();
  };
}

async function sessionOf({ services }: App, userId: string): Promise<string> {
  const { sessionDuration, sessionMaxAge } = services.config;
  const { id, text, secretHash } = newToken("session");
  await services.database.pool.query(
    `with seen as (update users set last_seen_at = now() where id = $1)
     insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, last_used_at, expires_at, ip, user_agent,
       epoch)
     values ($2, $3, $1, 'session', '', '{all}', now(), now(), now() + $4 * interval '1 ms', '127.0.0.1', 'node',
       (select credential_epoch from users where id = $1))`,
    [userId, id, secretHash, Math.min(sessionDuration, sessionMaxAge)],
  );
  return text;
}

/** Starts a server of its own, on a copy of the template, and signs the owner in. Close it after the tests. */
export const startWorld = async (changes: NodeJS.ProcessEnv = {}): Promise<World> =>
  startWorldOn(await cloneDatabase(), changes);

/** The same on another database. */
export async function startWorldOn(database: TestDatabase, changes: NodeJS.ProcessEnv = {}): Promise<World> {
  const app = await startServer(database.url, changes);
  const owners = await app.services.database.pool.query(`
    select u.id, username, email, o.id as "organizationId" from users u cross join organizations o where not is_system`);
  const { organizationId, ...owner } = owners.rows[0];
  return new World(app, database, { ...owner, token: await sessionOf(app, owner.id) }, organizationId);
}

/** Inside `describe`: starts a world before its tests and closes it afterwards. */
export function world(changes: NodeJS.ProcessEnv = {}): () => World {
  let started: World;
  before(async () => {
    started = await startWorld(changes);
  });
  after(() => started.close());
  return () => started;
}

/**
 * At the top of a file: a world that several `describe` share, each of which calls the result. The first one that runs starts
 * it, and it is closed after the file.
 */
export function sharedWorld(changes: NodeJS.ProcessEnv = {}): () => () => World {
  let starting: Promise<World> | undefined;
  after(async () => (await starting)?.close());
  return () => {
    let started: World;
    before(async () => {
      started = await (starting ??= startWorld(changes));
    });
    return () => started;
  };
}
