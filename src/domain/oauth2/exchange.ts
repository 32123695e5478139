import type { Context } from "../kernel/context.js";
import type { AuthenticatedClient, ClientCredentials } from "./client-authentication.js";
import type { GrantType } from "./client-rows.js";
import { revokeGrants, type RevokeReason } from "./grants.js";
import type { PresentedCode, PresentedDeviceCode, PresentedRefreshToken } from "./presented.js";

/** A request for tokens (RFC 6749 §4, RFC 8628 §3.4). Which parameters it needs depends on the grant type. */
export interface IssueOAuth2Token extends ClientCredentials {
  grantType?: string | null;
  code?: string | null;
  redirectUri?: string | null;
  codeVerifier?: string | null;
  refreshToken?: string | null;
  deviceCode?: string | null;
  scope?: string | null;
  resource?: readonly string[] | null;
}

/** Tokens for an application (RFC 6749 §5.1). */
export interface IssuedTokens {
  accessToken: string;
  /** Absent if the application may not refresh. */
  refreshToken: string | undefined;
  /** When the access token expires, and the seconds until then. */
  expiry: string;
  expiresIn: number;
  /** The scopes of the access token, separated by spaces. */
  scope: string;
}

/** A request for tokens in progress. Its steps fill in the rest, in their order. */
export class Exchange<Credential> {
  client!: AuthenticatedClient;
  /** What the application presents. */
  presented!: Credential;
  scopes: readonly string[] = [];
  /** In canonical form. */
  audiences: readonly string[] = [];
  /** Stays absent if another request changed what this one has read. */
  tokens: IssuedTokens | undefined;

  constructor(
    readonly ctx: Context,
    readonly grantType: GrantType,
    readonly input: IssueOAuth2Token,
  ) {}
}

export type CodeExchange = Exchange<PresentedCode>;
export type RefreshExchange = Exchange<PresentedRefreshToken>;
export type ClientExchange = Exchange<undefined>;
export type DeviceExchange = Exchange<PresentedDeviceCode>;

/** Ends the grant of what is presented, although the request fails. */
export const revokeAfterwards = ({ ctx, presented }: CodeExchange | RefreshExchange, reason: RevokeReason): void =>
  ctx.afterRollback(async (afresh) => void (await revokeGrants(afresh, [presented.grantId], reason, "application")));
