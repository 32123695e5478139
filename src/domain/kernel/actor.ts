import type { OrganizationRole, SiteRole } from "../authorization/roles.js";

/** Who acts. Roles and scopes are as of at most a second ago. */
export interface Actor {
  kind: "anonymous" | "user" | "agent" | "provisioner" | "proxy" | "scim_key" | "oauth_client" | "system";
  /** The user behind the credential: users only. */
  userId?: string;
  /** The machine behind the credential: the id of an agent or a proxy. */
  machineId?: string;
  /** Which token the machine showed: the SHA-256 of its secret as base64. */
  machineToken?: string;
  /** The workspace that an agent speaks for. */
  workspaceId?: string;
  /** A system identity (`is_system`): no sign-in, no changes of its own account, no notifications. */
  isSystem?: boolean;
  siteRoles: readonly SiteRole[];
  /** The organisations of the user with the roles held there, without the implied member role. */
  organizations: ReadonlyMap<string, readonly OrganizationRole[]>;
  /** What the credential may be used for; `all` does not narrow. */
  scopes: readonly string[];
  /** Whether administrators may enter other people's workspaces in this deployment. */
  entersWorkspaces?: boolean;
  credential?: Credential;
}

/** The key that a request came with. */
export interface Credential {
  /** Public part of the token. */
  id: string;
  kind: "session" | "token" | "oauth" | "application";
  /** RFC 3339. */
  expiresAt: string;
  /** The key that asked for this one, if any: they end together. */
  parentId: string | null;
}

export const anonymous: Actor = { kind: "anonymous", siteRoles: [], organizations: new Map(), scopes: [] };
