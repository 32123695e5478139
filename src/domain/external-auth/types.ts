/** Types of services, by the names in the configuration. */
export const ExternalAuthProviderType = {
  GITHUB: "github",
  GITLAB: "gitlab",
  BITBUCKET_CLOUD: "bitbucket-cloud",
  BITBUCKET_SERVER: "bitbucket-server",
  AZURE_DEVOPS: "azure-devops",
  AZURE_DEVOPS_ENTRA: "azure-devops-entra",
  GITEA: "gitea",
  JFROG: "jfrog",
  SLACK: "slack",
  CUSTOM: "custom",
} as const;
export type ExternalAuthProviderType = (typeof ExternalAuthProviderType)[keyof typeof ExternalAuthProviderType];

/** How a client authenticates at a token endpoint (RFC 6749 §2.3.1), or by a JWT assertion (RFC 7523 §2.2). */
export type TokenAuthMethod = "post" | "basic" | "assertion";

/** URLs of a provider; empty where it has none. */
export interface Endpoints {
  authUrl: string;
  tokenUrl: string;
  validateUrl: string;
  revokeUrl: string;
  deviceCodeUrl: string;
  apiBaseUrl: string;
  appInstallationsUrl: string;
}

/** The differences between types: defaults of the configuration, and deviations from the standards. */
export interface TypeTraits {
  name: string;
  icon: string;
  /** The public service; empty if the operator must configure the authorization URL. */
  origin: string;
  /** Derives the URLs of the provider from its origin; `api` is the configured base of its API, if any. */
  endpoints: (origin: string, clientId: string, api?: string) => Partial<Endpoints>;
  scopes: readonly string[];
  authMethod: TokenAuthMethod;
  usesPkce: boolean;
  /** The host in Git URLs, if it is not that of the authorization URL; null for services without Git. */
  gitHost?: string | null;
  /** The user name that Git sends with a token. */
  gitUsername: "oauth2" | "x-access-token" | "x-token-auth";
  /** Where the account is read: in the validation response, below the base of the API, or nowhere. */
  account: "validation" | "/user" | null;
  /** How tokens are revoked: by RFC 7009, or as an OAuth grant of GitHub. */
  revocation: "standard" | "grant";
  /** Parameters of every authorization and token request. */
  parameters?: Readonly<Record<string, string>>;
}

const keyIcon = "/emojis/1f511.png";

const standard: Omit<TypeTraits, "name"> = {
  icon: keyIcon,
  origin: "",
  endpoints: () => ({}),
  scopes: [],
  authMethod: "post",
  usesPkce: true,
  gitUsername: "oauth2",
  account: null,
  revocation: "standard",
};

const azure = { icon: "/icon/azure-devops.svg", gitHost: "dev.azure.com" };

export const typeTraits: Record<ExternalAuthProviderType, TypeTraits> = {
  github: {
    ...standard,
    name: "GitHub",
    icon: "/icon/github.svg",
    origin: "https://github.com",
    // The public site serves its API on a separate host, an Enterprise Server under a path.
    endpoints: (at, clientId, api = at === "https://github.com" ? "https://api.github.com" : `${at}/api/v3`) => ({
      authUrl: `${at}/login/oauth/authorize`,
      tokenUrl: `${at}/login/oauth/access_token`,
      deviceCodeUrl: `${at}/login/device/code`,
      validateUrl: `${api}/user`,
      revokeUrl: `${api}/applications/${encodeURIComponent(clientId)}/grant`,
      appInstallationsUrl: `${api}/user/installations`,
      apiBaseUrl: api,
    }),
    scopes: ["repo", "workflow"],
    gitUsername: "x-access-token",
    account: "validation",
    revocation: "grant",
  },
  gitlab: {
    ...standard,
    name: "GitLab",
    icon: "/icon/gitlab.svg",
    origin: "https://gitlab.com",
    endpoints: (at, _, api = `${at}/api/v4`) => ({
      authUrl: `${at}/oauth/authorize`,
      tokenUrl: `${at}/oauth/token`,
      revokeUrl: `${at}/oauth/revoke`,
      validateUrl: `${at}/oauth/token/info`,
      apiBaseUrl: api,
    }),
    scopes: ["write_repository", "read_api"],
    account: "/user",
  },
  "bitbucket-cloud": {
    ...standard,
    name: "Bitbucket Cloud",
    icon: "/icon/bitbucket.svg",
    origin: "https://bitbucket.org",
    endpoints: (at, _, api = at === "https://bitbucket.org" ? "https://api.bitbucket.org/2.0" : `${at}/2.0`) => ({
      authUrl: `${at}/site/oauth2/authorize`,
      tokenUrl: `${at}/site/oauth2/access_token`,
      validateUrl: `${api}/user`,
      apiBaseUrl: api,
    }),
    scopes: ["account", "repository:write"],
    authMethod: "basic",
    gitUsername: "x-token-auth",
    account: "validation",
  },
  "bitbucket-server": {
    ...standard,
    name: "Bitbucket Server",
    icon: "/icon/bitbucket.svg",
    endpoints: (at, _, api = `${at}/rest/api/latest`) => ({
      tokenUrl: `${at}/rest/oauth2/latest/token`,
      validateUrl: `${api}/inbox/pull-requests/count`,
      apiBaseUrl: api,
    }),
    scopes: ["PUBLIC_REPOS", "REPO_READ", "REPO_WRITE"],
    usesPkce: false,
    gitUsername: "x-token-auth",
  },
  "azure-devops": {
    ...standard,
    ...azure,
    name: "Azure DevOps",
    origin: "https://app.vssps.visualstudio.com",
    endpoints: (at) => ({ authUrl: `${at}/oauth2/authorize`, tokenUrl: `${at}/oauth2/token` }),
    scopes: ["vso.code_write"],
    authMethod: "assertion",
    usesPkce: false,
  },
  "azure-devops-entra": {
    ...standard,
    ...azure,
    name: "Azure DevOps (Entra)",
    parameters: { resource: "499b84ac-1321-427f-aa17-267ca6975798" },
  },
  gitea: {
    ...standard,
    name: "Gitea",
    icon: "/icon/gitea.svg",
    endpoints: (at, _, api = `${at}/api/v1`) => ({
      tokenUrl: `${at}/login/oauth/access_token`,
      validateUrl: `${api}/user`,
      apiBaseUrl: api,
    }),
    scopes: ["read:user", "write:repository"],
    account: "validation",
  },
  jfrog: { ...standard, name: "JFrog", icon: "/icon/jfrog.svg", gitHost: null },
  slack: {
    ...standard,
    name: "Slack",
    icon: "/icon/slack.svg",
    origin: "https://slack.com",
    endpoints: (at) => ({
      authUrl: `${at}/oauth/v2/authorize`,
      tokenUrl: `${at}/api/oauth.v2.access`,
      revokeUrl: `${at}/api/auth.revoke`,
    }),
    gitHost: null,
  },
  custom: { ...standard, name: "Custom", account: "validation", gitHost: null },
};
