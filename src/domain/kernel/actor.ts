import { forbidden } from "./errors.js";

/** The caller of a request. A new kind of caller needs a member here and a row in the policy. */
export type Actor = UserActor | MachineActor | SystemActor | AnonymousActor;

/** A user or a service account. Roles and scopes are at most one second old. */
export interface UserActor {
  readonly kind: "user";
  readonly userId: string;
  readonly siteRoles: readonly SiteRole[];
  /** The user's organizations with the roles held there, without the implied member role. */
  readonly organizations: ReadonlyMap<string, readonly OrganizationRole[]>;
  /** The scopes of the credential; `all` sets no limit. */
  readonly scopes: readonly string[];
  /** Whether the deployment allows administrators to enter workspaces of other users. */
  readonly entersWorkspaces: boolean;
  /** Whether the user can do nothing else before the password was changed, whatever the credential is. */
  readonly mustChangePassword: boolean;
  /**
   * Until when the user has to add a second factor, in milliseconds since the epoch: after it, the user can do nothing else.
   * Absent if none is required, and for API tokens, which go on.
   */
  readonly addsFactorBy?: number | undefined;
  /** Whether a rule lets the user have a second factor, also where the setting of the server does not. */
  readonly isOfferedFactor?: boolean;
  /** The recent proof that some actions require of this user; absent if they require none. */
  readonly proof?: Proof | undefined;
  readonly credential: Credential;
}

/** The recent proof of who a user is. */
export interface Proof {
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** Seconds for which a proof holds. */
  readonly maxAge: number;
  /** How the session can prove it again; nothing for access tokens of applications, which cannot. */
  readonly ways: readonly ProofWay[];
}

/** A way to prove again who one is. */
export const ProofWay = {
  PASSKEY: "passkey",
  ONE_TIME_CODE: "one_time_code",
  PASSWORD: "password",
  SIGN_IN: "sign_in",
} as const;
export type ProofWay = (typeof ProofWay)[keyof typeof ProofWay];

/** The key that authenticated a request of a user. */
export interface Credential {
  /** Public part of the token. */
  readonly id: string;
  readonly kind: "session" | "token" | "oauth" | "application";
  /** RFC 3339. */
  readonly expiresAt: string;
  /** The key that created this one, if any. This key ends with it. */
  readonly parentId: string | null;
  /** The OAuth2 application and the resources of an access token; absent for other kinds. */
  readonly oauth?: OAuthAccess;
}

/** The audience of an OAuth2 access token. */
export interface OAuthAccess {
  readonly clientId: string;
  /** URIs of resources (RFC 8707). Empty: the whole of this server. */
  readonly audiences: readonly string[];
}

/** A component of the platform, authenticated by its own token. Machines have no roles and no scopes. */
export type MachineActor = AgentActor | ProvisionerActor | ProxyActor | ScimKeyActor;

interface Machine {
  readonly id: string;
  /** SHA-256 of the secret of its token, base64. */
  readonly tokenHash: string;
}

/** The agent of a workspace. */
export interface AgentActor extends Machine {
  readonly kind: "agent";
  readonly workspaceId: string;
}

/** A provisioner daemon, connected with a key, with the session of a user, or inside of the server. */
export interface ProvisionerActor extends Machine {
  readonly kind: "provisioner";
  readonly organizationId: string;
  readonly name: string;
  /** Null for daemons of users and the built-in one, which have an empty `tokenHash`. */
  readonly keyId: string | null;
  /** The user with whose session it connected. Null for daemons with a key and the built-in one. */
  readonly user: UserActor | null;
  /** The provisioner types that it runs, such as `echo`. */
  readonly provisioners: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  /** Names the connection, which ends when a newer one of the daemon begins. */
  readonly connectionId: string;
}

/** A workspace proxy. */
export interface ProxyActor extends Machine {
  readonly kind: "proxy";
}

/** An identity provider that manages users and groups. The id is the public part of its key. */
export interface ScimKeyActor extends Machine {
  readonly kind: "scim_key";
  /** The label of the provider, whose links the key reads and writes. */
  readonly source: string;
  /** The organizations whose groups the key manages, the one of new groups first. */
  readonly organizationIds: readonly string[];
  /** RFC 3339, at most 5 minutes behind; null if never. */
  readonly lastUsedAt: string | null;
}

/** The server itself: at startup, in commands, and in fire-and-forget work. */
export interface SystemActor {
  readonly kind: "system";
}

/** A request without a credential. */
export interface AnonymousActor {
  readonly kind: "anonymous";
}

export const systemActor: SystemActor = { kind: "system" };
export const anonymous: AnonymousActor = { kind: "anonymous" };

/** The user behind the request. Throws FORBIDDEN for all other callers. */
export function requireUser(actor: Actor): UserActor {
  if (actor.kind !== "user") throw forbidden();
  return actor;
}

/** The id of the user behind the request; `undefined` for all other callers. */
export const userIdOf = (actor: Actor): string | undefined => (actor.kind === "user" ? actor.userId : undefined);

/** The id of the user or machine; `undefined` for callers without one. */
export function idOf(actor: Actor): string | undefined {
  switch (actor.kind) {
    case "user":
      return actor.userId;
    case "agent":
    case "provisioner":
    case "proxy":
    case "scim_key":
      return actor.id;
    case "system":
    case "anonymous":
      return undefined;
    default:
      return actor satisfies never;
  }
}

/** Roles in the deployment, as stored and sent. Every signed-in user is also a `member`. */
export const siteRoles = ["owner", "template-admin", "user-admin", "auditor"] as const;
export type SiteRole = (typeof siteRoles)[number];

/** Roles in an organization. Every member is also an `organization-member`. */
export const organizationRoles = [
  "organization-admin",
  "organization-template-admin",
  "organization-user-admin",
  "organization-auditor",
] as const;
export type OrganizationRole = (typeof organizationRoles)[number];

/** Roles implied by an account or a membership. They are not stored, listed or assigned. */
export type ImpliedRole = "member" | "organization-member";

export type Role = SiteRole | OrganizationRole | ImpliedRole;

/** Display names. */
export const roleNames: Readonly<Record<Role, string>> = {
  owner: "Owner",
  "template-admin": "Template admin",
  "user-admin": "User admin",
  auditor: "Auditor",
  member: "Member",
  "organization-admin": "Organization admin",
  "organization-template-admin": "Organization template admin",
  "organization-user-admin": "Organization user admin",
  "organization-auditor": "Organization auditor",
  "organization-member": "Organization member",
};

export const isSiteRole = (name: string): name is SiteRole => (siteRoles as readonly string[]).includes(name);

export const isOrganizationRole = (name: string): name is OrganizationRole =>
  (organizationRoles as readonly string[]).includes(name);
