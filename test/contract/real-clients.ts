// What real clients and identity providers send, and what must come out of it. Data only; real-clients.test.ts runs every
// row, and docs/clients.md shows them.

/**
 * How a row was taken: from the wire, with the released program; from its source; from a public report; or from what its
 * maker documents, alone.
 */
type Taken = "wire" | "source" | "report" | "documentation";

interface Origin {
  readonly client: string;
  /** The version of the program, or the date of the report. */
  readonly version: string;
  readonly taken: Taken;
  readonly source: string;
}

/** A program that registers itself (RFC 7591), asks for access, and gets tokens. */
export interface RegisteringClient extends Origin {
  readonly registers: {
    readonly client_name: string;
    readonly redirect_uris: readonly string[];
    readonly application_type?: string;
    readonly [name: string]: unknown;
  };
  /** The redirect URI of its request: loopback ports may differ from that which was registered. */
  readonly returnsTo: string;
  /** The scopes that it asks for; undefined for none. */
  readonly scope?: string;
  /** Whether it names the resource (RFC 8707). */
  readonly namesResource: boolean;
  /** How it authenticates where it gets tokens. */
  readonly authenticates: "none" | "body" | "basic";
  /** The authentication method in the response to the registration. */
  readonly method: "none" | "client_secret_basic" | "client_secret_post";
  /** The scopes of its token. */
  readonly gets: string;
}

/** A program that prefers the URL of a metadata document where that is announced. */
export interface DocumentClient extends Origin {
  readonly clientId: string;
  /** The redirect URIs of its document, as reports show them. */
  readonly redirectUris: readonly string[];
  readonly returnsTo: string;
  /** Whether the document has the redirect URI of its request, ports of loopback addresses aside (RFC 8252 §7.3). */
  readonly getsIn: boolean;
}

/** A sign-in through a provider: the claims of the ID token, and who gets in. */
export interface SignIn extends Origin {
  readonly situation: string;
  /** Claims beside `iss`, `aud`, `iat`, `exp`, `nonce`. */
  readonly idToken: Readonly<Record<string, unknown>>;
  /** The response of the UserInfo endpoint, if the ID token lacks the address. */
  readonly userInfo?: Readonly<Record<string, unknown>>;
  /** The address of the new account; null if the user does not get in. */
  readonly comesIn: string | null;
}

/** Requests of a provider that keeps accounts up to date (SCIM, RFC 7644). `{user}` and `{group}` are the ids
 * of what was created last. */
export interface Provisioning extends Origin {
  readonly situation: string;
  readonly requests: ReadonlyArray<{
    readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
    readonly path: string;
    readonly body?: Readonly<Record<string, unknown>>;
    readonly status: number;
  }>;
  /** Attributes of the user or group afterwards. */
  readonly becomes: Readonly<Record<string, unknown>>;
  /** Attributes that it has no longer. */
  readonly lacks?: readonly string[];
}

const codeAndRefresh = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };

/** A stand-in for the server that announces what Steward does, on this machine, without a network. */
const wire = "the requests of the program in its package of npm, without a network";

export const registeringClients: readonly RegisteringClient[] = [
  {
    client: "Claude",
    version: "2026-09-15",
    taken: "report",
    source: "anthropics/claude-ai-mcp#1043, anthropics/claude-code#5826",
    registers: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      token_endpoint_auth_method: "client_secret_post",
      ...codeAndRefresh,
    },
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    scope: "user:read workspace:read template:read task:read",
    namesResource: true,
    authenticates: "body",
    method: "client_secret_post",
    gets: "user:read workspace:read template:read task:read",
  },
  {
    client: "Claude Code",
    version: "2.1.332",
    taken: "wire",
    source: wire,
    registers: {
      client_name: "Claude Code (steward)",
      redirect_uris: ["http://localhost:50323/callback"],
      token_endpoint_auth_method: "none",
      application_type: "native",
      scope: "user:read workspace:read",
      ...codeAndRefresh,
    },
    returnsTo: "http://localhost:50323/callback",
    scope: "user:read workspace:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read",
  },
  {
    client: "Claude Code, desktop",
    version: "2026-09-17",
    taken: "report",
    source: "RevenueCat/ai-toolkit#58 (the URI)",
    registers: {
      client_name: "Claude Code",
      redirect_uris: ["claude://claude.ai/mcp-auth-callback/sdk"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "claude://claude.ai/mcp-auth-callback/sdk",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Claude Code",
    version: "2.1",
    taken: "report",
    source: "elmohq/elmo#684, from the wire there",
    registers: {
      client_name: "Claude Code",
      redirect_uris: ["http://localhost:3118/callback"],
      application_type: "native",
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "http://localhost:3118/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "ChatGPT",
    version: "2026-08-17",
    taken: "report",
    source: "danielealbano/android-remote-control-mcp#166, BasedHardware/omi#8824",
    registers: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector/oauth/OUbdUMlL15Ct"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "https://chatgpt.com/connector/oauth/OUbdUMlL15Ct",
    // Servers made for it announce offline_access, which Steward does not have: unknown scopes are dropped.
    scope: "user:read workspace:read offline_access",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read",
  },
  {
    client: "Cursor",
    version: "2026-09-03",
    taken: "report",
    source: "erp-mafia/accounted#2225, different-ai/openwork#3059",
    registers: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      token_endpoint_auth_method: "none",
      application_type: "web",
      ...codeAndRefresh,
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/callback",
    scope: "user:read workspace:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read",
  },
  {
    client: "Cursor, with the name of the server in the path",
    version: "2025-11-06",
    taken: "report",
    source: "browserstack/mcp-server#176, its log",
    registers: {
      client_name: "Cursor",
      redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/user-browserstack/callback"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/user-browserstack/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "VS Code",
    version: "1.106",
    taken: "report",
    source: "microsoft/vscode#278512 and #252226 (application_type), src/vs/base/common/oauth.ts",
    registers: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
    },
    // Any port, where another window has the usual one.
    returnsTo: "http://127.0.0.1:59656/",
    scope: "user:read workspace:read template:read task:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read template:read task:read",
  },
  {
    client: "Cline",
    version: "4.1.13",
    taken: "source",
    source: "cline/cline 21cb8d25, apps/vscode/src/services/mcp/McpOAuthManager.ts",
    registers: {
      client_name: "Cline",
      redirect_uris: ["http://127.0.0.1:1456/mcp/oauth/callback"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:1456/mcp/oauth/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Cline",
    version: "3.42.0",
    taken: "source",
    source: "cline/cline 068316fe, src/services/mcp/McpOAuthManager.ts, and cline/cline#8103 (the URI, with a hash)",
    registers: {
      client_name: "Cline",
      client_uri: "https://cline.bot",
      software_id: "cline",
      redirect_uris: ["vscode://saoudrizwan.claude-dev/mcp-auth/callback/9f86d081884c7d65"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "vscode://saoudrizwan.claude-dev/mcp-auth/callback/9f86d081884c7d65",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Windsurf",
    version: "2026-09-05",
    taken: "report",
    source:
      "trypostit/trypost#336, actionhero/keryx#502: the scheme; the path and the rest are those that others register",
    registers: {
      client_name: "Windsurf",
      redirect_uris: ["windsurf://codeium.windsurf/oauth/callback"],
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "windsurf://codeium.windsurf/oauth/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Codex",
    version: "0.171.0",
    taken: "wire",
    source: wire,
    registers: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:33511/callback"],
      token_endpoint_auth_method: "none",
      scope: "user:read",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:33511/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Codex",
    version: "0.147",
    taken: "report",
    source: "elmohq/elmo#684, from the wire there, and openai/codex#30460 (the path)",
    registers: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:37819/callback/6MFBM1In3Ey-"],
      application_type: "native",
      token_endpoint_auth_method: "none",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:37819/callback/6MFBM1In3Ey-",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "opencode",
    version: "1.18.33",
    taken: "wire",
    source: wire,
    registers: {
      client_name: "OpenCode",
      client_uri: "https://opencode.ai",
      redirect_uris: ["http://127.0.0.1:19876/mcp/oauth/callback"],
      token_endpoint_auth_method: "none",
      scope: "user:read",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:19876/mcp/oauth/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "Gemini CLI",
    version: "0.56.0",
    taken: "source",
    source: "google-gemini/gemini-cli 5411f113, packages/core/src/mcp/oauth-provider.ts",
    registers: {
      client_name: "Gemini CLI MCP Client",
      redirect_uris: ["http://localhost:7777/oauth/callback"],
      token_endpoint_auth_method: "none",
      // Empty unless its settings name scopes.
      scope: "",
      ...codeAndRefresh,
    },
    returnsTo: "http://localhost:7777/oauth/callback",
    scope: "user:read workspace:read template:read task:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read template:read task:read",
  },
  {
    client: "MCP Inspector",
    version: "2.12.0",
    taken: "wire",
    source: wire,
    registers: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://127.0.0.1:6276/oauth/callback"],
      token_endpoint_auth_method: "none",
      scope: "user:read workspace:read",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://127.0.0.1:6276/oauth/callback",
    scope: "user:read workspace:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read workspace:read",
  },
  {
    client: "mcp-remote",
    version: "0.15.1",
    taken: "wire",
    source: wire,
    registers: {
      client_name: "MCP CLI Client",
      client_uri: "https://github.com/modelcontextprotocol/mcp-cli",
      redirect_uris: ["http://localhost:23008/oauth/callback"],
      software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
      software_version: "0.15.1",
      token_endpoint_auth_method: "none",
      scope: "user:read",
      application_type: "native",
      ...codeAndRefresh,
    },
    returnsTo: "http://localhost:23008/oauth/callback",
    scope: "user:read",
    namesResource: true,
    authenticates: "none",
    method: "none",
    gets: "user:read",
  },
  {
    client: "A client of SDK 1 that registers no method",
    version: "1.32.2",
    taken: "source",
    source:
      "@modelcontextprotocol/sdk, client/auth.js, selectClientAuthMethod: it authenticates as the response to its registration says",
    registers: { client_name: "Assistant", redirect_uris: ["http://127.0.0.1:8000/callback"] },
    returnsTo: "http://127.0.0.1:8000/callback",
    scope: "user:read all",
    namesResource: false,
    authenticates: "basic",
    method: "client_secret_basic",
    // The scope `all` is above what those get that register themselves: it is left out.
    gets: "user:read",
  },
];

export const documentClients: readonly DocumentClient[] = [
  {
    client: "Claude Code",
    version: "2.1.332",
    taken: "wire",
    source: `${wire}; the document in giantswarm/mcp-oauth#265`,
    clientId: "https://claude.ai/oauth/claude-code-client-metadata",
    redirectUris: ["http://localhost/callback", "http://127.0.0.1/callback"],
    returnsTo: "http://localhost:62432/callback",
    getsIn: true,
  },
  {
    client: "Codex",
    version: "0.171.0",
    taken: "wire",
    source: `${wire}; its document was out of reach, and is taken to have this URI without a port`,
    clientId: "https://chatgpt.com/oauth/codex/client.json",
    redirectUris: ["http://127.0.0.1/callback"],
    returnsTo: "http://127.0.0.1:33155/callback",
    getsIn: true,
  },
  {
    // Version 1.18.33 registers itself instead, even where documents are announced.
    client: "opencode",
    version: "2026-09-22",
    taken: "report",
    source: "anomalyco/opencode#50510: its document lacks the redirect URI that it uses",
    clientId: "https://opencode.ai/oauth/opencode/client.json",
    redirectUris: ["http://127.0.0.1/callback", "http://localhost/callback"],
    returnsTo: "http://127.0.0.1:19876/mcp/oauth/callback",
    getsIn: false,
  },
];

/** The domain in STEWARD_OIDC_EMAIL_DOMAINS is `corp.example.com`. */
export const signIns: readonly SignIn[] = [
  {
    client: "Microsoft Entra ID",
    version: "v2.0, 2026-08-12",
    taken: "report",
    source: "screentinker/screentinker#256, open-mercato/open-mercato#2026: no email_verified at all",
    situation: "a member of the directory",
    idToken: {
      sub: "MvKiiQxN35I2v4nx5MHMo4ChReGZXEYE51mWxcnuJmo",
      oid: "54a1c8e2-6a35-4b43-bb4c-ad7519c0ffee",
      tid: "4534d85d-35f7-48d5-9f2c-326febb0a17d",
      name: "Ada Entra",
      preferred_username: "ada.entra@corp.example.com",
      email: "ada.entra@corp.example.com",
      ver: "2.0",
    },
    comesIn: "ada.entra@corp.example.com",
  },
  {
    client: "Microsoft Entra ID",
    version: "v2.0, 2026-08-12",
    taken: "report",
    source: "screentinker/screentinker#256, pond/omniauth-entra-id#33: anyone sets the address of a guest",
    situation: "a guest with an address elsewhere",
    idToken: {
      sub: "aaKiiQxN35I2v4nx5MHMo4ChReGZXEYE51mWxcnuJmo",
      oid: "64a1c8e2-6a35-4b43-bb4c-ad7519c0ffee",
      tid: "4534d85d-35f7-48d5-9f2c-326febb0a17d",
      name: "Guest",
      preferred_username: "guest@elsewhere.example.org",
      email: "guest@elsewhere.example.org",
      ver: "2.0",
    },
    comesIn: null,
  },
  {
    client: "Okta",
    version: "2023-06-30",
    taken: "report",
    source:
      "groups.google.com/g/rabbitmq-users/c/O3GdCKf8soM: the claims; email_verified as the organization's server sends it",
    situation: "the organization's authorization server",
    idToken: {
      sub: "00ujl29u0le5T6Aj10h7",
      name: "Ada Okta",
      email: "ada.okta@corp.example.com",
      ver: 1,
      jti: "ID.radCQMOQUmyvcTBmmIL0J6BaS60apUEiC7-vI7pOmkw",
      amr: ["pwd"],
      idp: "00oigpTeBgrCQLVNTAAA",
      preferred_username: "ada.okta@corp.example.com",
      email_verified: true,
    },
    comesIn: "ada.okta@corp.example.com",
  },
  {
    client: "Okta",
    version: "2026",
    taken: "documentation",
    source: "OpenID Connect reference of Okta: with an access token, the ID token is thin",
    situation: "a thin ID token",
    idToken: { sub: "00ujl29u0le5T6Aj10h8", ver: 1, amr: ["pwd"], idp: "00oigpTeBgrCQLVNTAAA" },
    userInfo: {
      sub: "00ujl29u0le5T6Aj10h8",
      name: "Thin Okta",
      email: "thin.okta@corp.example.com",
      email_verified: true,
      preferred_username: "thin.okta@corp.example.com",
      zoneinfo: "America/Los_Angeles",
    },
    comesIn: "thin.okta@corp.example.com",
  },
  {
    client: "Google",
    version: "2026",
    taken: "documentation",
    source: "OpenID Connect reference of Google",
    situation: "a Workspace account",
    idToken: {
      sub: "110169484474386276334",
      azp: "1234987819200.apps.googleusercontent.com",
      hd: "corp.example.com",
      email: "ada.google@corp.example.com",
      email_verified: true,
      name: "Ada Google",
      given_name: "Ada",
      family_name: "Google",
    },
    comesIn: "ada.google@corp.example.com",
  },
  {
    client: "authentik",
    version: "2025.10",
    taken: "report",
    source:
      "release notes of 2025.10 in bretzel-app/crumbs#80, warp-tech/warpgate#1711: email_verified is false by default",
    situation: "the usual scope mapping",
    idToken: {
      sub: "8a2c0f9d6f1e4a5b9d3c7e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
      acr: "goauthentik.io/providers/oauth2/default",
      email: "ada.authentik@corp.example.com",
      email_verified: false,
      name: "Ada Authentik",
      preferred_username: "ada",
      nickname: "ada",
      groups: ["authentik Admins"],
    },
    comesIn: null,
  },
  {
    client: "authentik",
    version: "2025.10",
    taken: "report",
    source: "warp-tech/warpgate#1711",
    situation: "a scope mapping that confirms addresses",
    idToken: {
      sub: "9a2c0f9d6f1e4a5b9d3c7e8f0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
      email: "bea.authentik@corp.example.com",
      email_verified: true,
      name: "Bea Authentik",
      preferred_username: "bea-authentik",
      nickname: "bea",
    },
    comesIn: "bea.authentik@corp.example.com",
  },
  {
    client: "Auth0",
    version: "2026",
    taken: "documentation",
    source: "Auth0, ID token structure",
    situation: "a user of a database connection",
    idToken: {
      sub: "auth0|507f1f77bcf86cd799439020",
      nickname: "ada.auth0",
      name: "Ada Auth0",
      updated_at: "2026-09-01T08:00:00.000Z",
      email: "ada.auth0@corp.example.com",
      email_verified: true,
    },
    comesIn: "ada.auth0@corp.example.com",
  },
  {
    client: "Keycloak",
    version: "26",
    taken: "report",
    source: "bretzel-app/crumbs#80: emailVerified of users that administrators create is false",
    situation: "a user that an administrator created",
    idToken: {
      sub: "f1f3a1d0-7b57-4c84-a5c1-2f65e2f2b0aa",
      azp: "steward",
      acr: "1",
      email_verified: false,
      name: "Ada Keycloak",
      preferred_username: "ada-keycloak",
      email: "ada.keycloak@corp.example.com",
    },
    comesIn: null,
  },
  {
    client: "Keycloak",
    version: "26",
    taken: "documentation",
    source: "Keycloak, scopes email and profile",
    situation: "a user with a confirmed address",
    idToken: {
      sub: "a2f3a1d0-7b57-4c84-a5c1-2f65e2f2b0aa",
      azp: "steward",
      acr: "1",
      email_verified: true,
      name: "Bea Keycloak",
      preferred_username: "bea-keycloak",
      given_name: "Bea",
      family_name: "Keycloak",
      email: "bea.keycloak@corp.example.com",
    },
    comesIn: "bea.keycloak@corp.example.com",
  },
  {
    client: "Amazon Cognito",
    version: "2026",
    taken: "documentation",
    source: "Cognito, UserInfo endpoint: booleans are text",
    situation: "the text true",
    idToken: { sub: "3f8b4a2e-1c9d-4e55-9b1a-7d0e5c6f8a90", token_use: "id" },
    userInfo: {
      sub: "3f8b4a2e-1c9d-4e55-9b1a-7d0e5c6f8a90",
      email_verified: "true",
      email: "ada.cognito@corp.example.com",
      username: "ada-cognito",
    },
    comesIn: "ada.cognito@corp.example.com",
  },
];

const user = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const group = "urn:ietf:params:scim:schemas:core:2.0:Group";
const patch = "urn:ietf:params:scim:api:messages:2.0:PatchOp";
const entra = {
  client: "Microsoft Entra ID",
  version: "2024-05-21",
  taken: "report",
  source: "learn.microsoft.com/answers/questions/1684621",
} as const;

export const provisionings: readonly Provisioning[] = [
  {
    ...entra,
    situation: "a new work address, by Add with a filter",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user, enterprise],
          externalId: "entra-work",
          userName: "entra.work@corp.example.com",
          active: true,
          emails: [{ primary: true, type: "work", value: "entra.work@corp.example.com" }],
          meta: { resourceType: "User" },
          name: { familyName: "Work", givenName: "Entra" },
          title: "tester",
        },
        status: 201,
      },
      {
        method: "PATCH",
        path: "/Users/{user}",
        body: {
          schemas: [patch],
          Operations: [
            { op: "Replace", path: "title", value: "lead" },
            { op: "Add", path: 'emails[type eq "work"].value', value: "entra.moved@corp.example.com" },
          ],
        },
        status: 200,
      },
    ],
    becomes: {
      title: "lead",
      emails: [{ primary: true, type: "work", value: "entra.moved@corp.example.com" }],
    },
  },
  {
    ...entra,
    situation: "a work address for a user whose address has no type",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user],
          userName: "entra.untyped@corp.example.com",
          emails: [{ primary: true, value: "entra.untyped@corp.example.com" }],
          active: true,
        },
        status: 201,
      },
      {
        method: "PATCH",
        path: "/Users/{user}",
        body: {
          schemas: [patch],
          Operations: [{ op: "Replace", path: 'emails[type eq "work"].value', value: "entra.typed@corp.example.com" }],
        },
        status: 200,
      },
    ],
    becomes: { emails: [{ primary: true, value: "entra.typed@corp.example.com" }] },
  },
  {
    client: "Microsoft Entra ID",
    version: "2026",
    taken: "documentation",
    source: "Known issues of SCIM 2.0 compliance of the Microsoft Entra provisioning service: booleans are text",
    situation: "a user who leaves, by the text False",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: { schemas: [user, enterprise], userName: "entra.leaver@corp.example.com", active: true },
        status: 201,
      },
      {
        method: "PATCH",
        path: "/Users/{user}",
        body: { schemas: [patch], Operations: [{ op: "Replace", path: "active", value: "False" }] },
        status: 200,
      },
    ],
    becomes: { active: false },
  },
  {
    client: "Microsoft Entra ID",
    version: "2026",
    taken: "documentation",
    source: "reports of 2025 and 2026 that were collected for the specification of SCIM; not seen on the wire",
    situation: "a manager as a list of one",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user, enterprise],
          userName: "entra.report@corp.example.com",
          active: true,
          [enterprise]: { department: "Watch", manager: [{ value: "26118915-6090-4610-87e4-49d8ca9f808d" }] },
        },
        status: 201,
      },
    ],
    becomes: { [enterprise]: { department: "Watch", manager: { value: "26118915-6090-4610-87e4-49d8ca9f808d" } } },
  },
  {
    client: "Microsoft Entra ID",
    version: "2026-09-16",
    taken: "report",
    source: "apache/directory-scimple#1242",
    situation: "a manager as text",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user, enterprise],
          userName: "entra.managed@corp.example.com",
          active: true,
          [enterprise]: { manager: "26118915-6090-4610-87e4-49d8ca9f808d" },
        },
        status: 201,
      },
    ],
    becomes: { [enterprise]: { manager: { value: "26118915-6090-4610-87e4-49d8ca9f808d" } } },
  },
  {
    client: "Okta",
    version: "2026",
    taken: "documentation",
    source: "Okta, SCIM 2.0 protocol reference: assignment, unassignment, and assignment of the same person again",
    situation: "a user who is assigned again",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user],
          userName: "okta.again@corp.example.com",
          name: { givenName: "Okta", familyName: "Again" },
          emails: [{ primary: true, value: "okta.again@corp.example.com", type: "work" }],
          displayName: "Okta Again",
          locale: "en-US",
          externalId: "00ujl29u0le5T6Aj10h9",
          groups: [],
          active: true,
        },
        status: 201,
      },
      {
        method: "PATCH",
        path: "/Users/{user}",
        body: { schemas: [patch], Operations: [{ op: "replace", value: { active: false } }] },
        status: 200,
      },
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user],
          userName: "okta.again@corp.example.com",
          name: { givenName: "Okta", familyName: "Again" },
          emails: [{ primary: true, value: "okta.again@corp.example.com", type: "work" }],
          displayName: "Okta Again",
          locale: "en-US",
          externalId: "00ujl29u0le5T6Aj10h9",
          groups: [],
          active: true,
        },
        status: 201,
      },
    ],
    becomes: { active: true, userName: "okta.again@corp.example.com" },
  },
  {
    client: "authentik",
    version: "2025.10",
    taken: "documentation",
    source: "goauthentik/authentik, SCIM provider: the usual mapping of users sends addresses of type other, and PUT",
    situation: "an account that is renamed by PUT",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: {
          schemas: [user],
          externalId: "authentik-1",
          userName: "ada-authentik",
          name: { formatted: "Ada A", givenName: "Ada", familyName: "A" },
          displayName: "Ada A",
          photos: [],
          locale: "en",
          active: true,
          emails: [{ value: "scim.authentik@corp.example.com", type: "other", primary: true }],
        },
        status: 201,
      },
      {
        method: "PUT",
        path: "/Users/{user}",
        body: {
          schemas: [user],
          externalId: "authentik-1",
          userName: "ada-authentik",
          name: { formatted: "Ada Authentik", givenName: "Ada", familyName: "Authentik" },
          displayName: "Ada Authentik",
          photos: [],
          locale: "en",
          active: true,
          emails: [{ value: "scim.authentik@corp.example.com", type: "other", primary: true }],
        },
        status: 200,
      },
    ],
    becomes: { displayName: "Ada Authentik", externalId: "authentik-1" },
  },
  {
    client: "Microsoft Entra ID",
    version: "2026",
    taken: "documentation",
    source: "Tutorial: develop a SCIM endpoint, groups: a member leaves by value, without a filter",
    situation: "a group that loses a member by value",
    requests: [
      {
        method: "POST",
        path: "/Users",
        body: { schemas: [user], userName: "entra.member@corp.example.com", active: true },
        status: 201,
      },
      {
        method: "POST",
        path: "/Groups",
        body: { schemas: [group], externalId: "entra-group", displayName: "Entra Watch" },
        status: 201,
      },
      {
        method: "PATCH",
        path: "/Groups/{group}",
        body: {
          schemas: [patch],
          Operations: [{ op: "Add", path: "members", value: [{ value: "{user}" }] }],
        },
        status: 204,
      },
      {
        method: "PATCH",
        path: "/Groups/{group}",
        body: {
          schemas: [patch],
          Operations: [{ op: "Remove", path: "members", value: [{ value: "{user}" }] }],
        },
        status: 204,
      },
    ],
    becomes: { displayName: "Entra Watch", externalId: "entra-group" },
    lacks: ["members"],
  },
];
