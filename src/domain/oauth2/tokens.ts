import type { Context } from "../kernel/context.js";
import { type DomainError, rateLimited } from "../kernel/errors.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { narrowedAudiences } from "./audiences.js";
import { authenticateClient, requireGrantType } from "./client-authentication.js";
import { GrantType } from "./clients.js";
import { audiencesOf } from "./default-resources.js";
import { requireApproval } from "./device-codes.js";
import {
  type ClientExchange,
  type CodeExchange,
  type DeviceExchange,
  Exchange,
  findCode,
  findDeviceCode,
  findRefreshToken,
  invalidGrant,
  type IssuedTokens,
  IssueOAuth2Token,
  redeemCode,
  redeemDeviceCode,
  type RefreshExchange,
  revokeAfterwards,
  rotateRefreshToken,
  useServiceAccount,
} from "./exchange.js";
import { oauthFailure, requireValues } from "./oauth-errors.js";
import { isCodeVerifier, isVerifierOf } from "./pkce.js";
import { isRegistered } from "./redirect-uris.js";
import { coversAll, exactScopes, requireWithin } from "./requested-scopes.js";
import { requireOAuth2 } from "./oauth2-settings.js";

const { AUTHORIZATION_CODE: C, REFRESH_TOKEN: R, CLIENT_CREDENTIALS: K, DEVICE_CODE: D } = GrantType;

interface Exchanges {
  [C]: CodeExchange;
  [R]: RefreshExchange;
  [K]: ClientExchange;
  [D]: DeviceExchange;
}
type AnyExchange = Exchanges[GrantType];
type OwnedExchange = Exclude<AnyExchange, ClientExchange>;

interface Step {
  run: (exchange: AnyExchange) => void | Promise<void>;
  types: readonly GrantType[];
}

/** A step of some grant types. A step that does not fit one of them fails to compile. */
const on = <Type extends GrantType>(
  run: (exchange: Exchanges[Type]) => void | Promise<void>,
  ...types: readonly Type[]
): Step => ({ run: run as Step["run"], types });

// oxfmt-ignore
const steps: readonly Step[] = [
  //                       code  refresh  client  device
  on(requireParameters,     C,    R,       K,      D),   // RFC 6749 §5.2 invalid_request
  on(authenticate,          C,    R,       K,      D),   // RFC 6749 §2.3, §3.2.1
  on(checkGrantType,        C,    R,       K,      D),   // RFC 6749 §5.2 unauthorized_client
  on(checkOwner,            C,    R,               D),   // RFC 6749 §5.2 invalid_grant
  on(refuseCodeReplay,      C                       ),   // RFC 6749 §4.1.2: reuse revokes the whole grant
  on(refuseTokenReuse,            R                 ),   // RFC 9700 §4.14.2: reuse revokes the whole grant
  on(countUse,                                     D),   // devices poll
  on(requireApproval,                              D),   // RFC 8628 §3.5
  on(checkGrant,            C,    R,               D),   // RFC 6749 §5.2 invalid_grant
  on(limitRepeats,                R                 ),   // too many successors, which are no reuse
  on(checkCode,             C                       ),   // RFC 6749 §5.2 invalid_grant
  on(matchRedirectUri,      C                       ),   // RFC 6749 §4.1.3
  on(verifyCodeChallenge,   C                       ),   // RFC 7636 §4.6
  on(narrowCodeAudience,    C                       ),   // RFC 8707 §2.2
  on(narrowAudience,              R,               D),   // RFC 8707 §2.2
  on(requestAudience,                      K        ),   // RFC 8707 §2.2
  on(keepScopes,            C,                     D),   // RFC 6749 §3.3
  on(narrowScopes,                R                 ),   // RFC 6749 §6
  on(requestScopes,                        K        ),   // RFC 6749 §4.4.2
  on(countUse,              C,    R,       K        ),   // right secrets are no attempts to guess one
  on(redeemCode,            C                       ),   // RFC 6749 §4.1.4
  on(rotateRefreshToken,          R                 ),   // RFC 9700 §4.14.2
  on(useServiceAccount,                    K        ),   // RFC 6749 §4.4.3
  on(redeemDeviceCode,                             D),   // RFC 8628 §3.5
];

const stepsByType = new Map<string, { type: GrantType; steps: readonly Step[] }>(
  Object.values(GrantType).map((type) => [type, { type, steps: steps.filter(({ types }) => types.includes(type)) }]),
);

/**
 * Issues tokens to an application (RFC 6749 §3.2). Reads outside of the transaction of the request; then one statement
 * decides, spends, and issues. If that finds that another request was faster, the steps run once more, and fail for what
 * the other request left.
 */
export async function issueOAuth2Token(ctx: Context, input: IssueOAuth2Token): Promise<IssuedTokens> {
  requireOAuth2(ctx);
  const { grantType, clientId } = input;
  if (!grantType) requireValues({ grantType, clientId });
  const known = stepsByType.get(grantType);
  if (!known) throw oauthFailure("unsupported_grant_type", "The grant type is not supported.");
  const tokens = (await attempt(ctx, known.type, input, true)) ?? (await attempt(ctx, known.type, input, false));
  if (!tokens) throw invalidGrant();
  return tokens;
}

async function attempt(
  ctx: Context,
  type: GrantType,
  input: IssueOAuth2Token,
  isFirst: boolean,
): Promise<IssuedTokens | undefined> {
  const exchange = new Exchange(ctx, type, input, isFirst) as AnyExchange;
  for (const { run } of stepsByType.get(type)!.steps) {
    const running = run(exchange);
    if (running) await running;
  }
  return exchange.tokens;
}

function requireParameters({ grantType, input }: AnyExchange): void {
  const { clientId, code, refreshToken, deviceCode, clientSecret, redirectUri, scope } = input;
  const presented = { [C]: { code }, [R]: { refreshToken }, [K]: {}, [D]: { deviceCode } };
  // Faults of the other parameters have codes of their own.
  const others = { clientSecret, code, redirectUri, refreshToken, deviceCode, scope };
  requireValues({ clientId, ...presented[grantType] }, IssueOAuth2Token, others);
}

/** Authenticates the application, and finds what it presents at the same time. */
async function authenticate(exchange: AnyExchange): Promise<void> {
  const { ctx, grantType, input } = exchange;
  const find = {
    [C]: () => findCode(ctx, input.code),
    [R]: () => findRefreshToken(ctx, input.refreshToken),
    [K]: () => undefined,
    [D]: () => findDeviceCode(ctx, input.deviceCode),
  }[grantType];
  const [client, presented] = await Promise.all([authenticateClient(ctx, input), find()]);
  exchange.client = client;
  (exchange as Exchange<typeof presented>).presented = presented;
}

function checkGrantType({ client, grantType }: AnyExchange): void {
  requireGrantType(client, grantType);
}

/** Rejects unknown codes and tokens, and those of other applications, which nothing changes. */
function checkOwner({ client, presented }: { client: { id: string }; presented?: { clientId: string } }): void {
  if (presented?.clientId !== client.id) throw invalidGrant();
}

/** Makes the code useless, although the request fails: the application of the code sent it with wrong parameters. */
function burnt({ ctx, presented }: CodeExchange, failure: DomainError): DomainError {
  ctx.afterRollback(async ({ db }) => {
    await db
      .updateTable("oauth2Codes")
      .set({ state: "burnt" })
      .where("id", "=", presented.id)
      .where("state", "=", "issued")
      .execute();
  });
  return failure;
}

/** Revokes the grant of a code that was redeemed before, with all tokens that were issued for it. */
function refuseCodeReplay(exchange: CodeExchange): void {
  if (exchange.presented.state !== "used") return;
  revokeAfterwards(exchange, "code_replay");
  throw invalidGrant();
}

/** Rejects codes that were burnt, or whose redirect URI is not registered any more. */
function checkCode({ client, presented: { state, redirectUri } }: CodeExchange): void {
  if (state === "burnt" || !isRegistered(client.redirectUris, redirectUri)) throw invalidGrant();
}

/** The redirect URI may be left out; if it is sent, it is that of the authorization request, byte by byte. */
function matchRedirectUri(exchange: CodeExchange): void {
  const { redirectUri } = exchange.input;
  if (redirectUri && redirectUri !== exchange.presented.redirectUri)
    throw burnt(exchange, invalidGrant("The redirect URI differs from that of the authorization request."));
}

/** A verifier is required if the authorization request had a challenge, and rejected otherwise. */
function verifyCodeChallenge(exchange: CodeExchange): void {
  const { codeChallenge } = exchange.presented;
  const verifier = exchange.input.codeVerifier ?? "";
  if (codeChallenge === null) {
    if (verifier === "") return;
    if (!isCodeVerifier(verifier))
      throw oauthFailure("invalid_request", "The code verifier must be 43 to 128 unreserved characters.");
    throw burnt(exchange, invalidGrant("The authorization request had no code challenge."));
  }
  if (!isVerifierOf(codeChallenge, verifier))
    throw burnt(exchange, invalidGrant("The code verifier does not match the code challenge."));
}

/** The audiences of the code, or the `resource` parameters among them. */
function narrowCodeAudience(exchange: CodeExchange): void {
  const { ctx, input, presented } = exchange;
  try {
    exchange.audiences = narrowedAudiences(presented.audiences, input.resource, ctx.config);
  } catch (error) {
    throw burnt(exchange, error as DomainError);
  }
}

/** Revokes the grant of a refresh token that was spent too long ago: time tells reuse from parallel requests. */
function refuseTokenReuse(exchange: RefreshExchange): void {
  if (!exchange.presented.isSpent) return;
  revokeAfterwards(exchange, "refresh_reuse");
  throw invalidGrant();
}

function checkGrant({ presented }: OwnedExchange): void {
  if (presented.isOver) throw invalidGrant();
}

/** Rejects repeats of a refresh within the grace period beyond the maximum. They may be parallel, and so revoke nothing. */
function limitRepeats({ presented }: RefreshExchange): void {
  if (presented.isExhausted) throw rateLimited(1, "The refresh token was used too often. Use one of its successors.");
}

function narrowAudience(exchange: RefreshExchange | DeviceExchange): void {
  const { ctx, input, presented } = exchange;
  exchange.audiences = narrowedAudiences(presented.audiences, input.resource, ctx.config);
}

async function requestAudience(exchange: ClientExchange): Promise<void> {
  exchange.audiences = await audiencesOf(exchange.ctx, exchange.client, exchange.input.resource);
}

/** The scopes that the user consented to. The ceiling of the application may have become lower in the meantime. */
function keepScopes(exchange: CodeExchange | DeviceExchange): void {
  exchange.scopes = exchange.presented.scopes;
  requireWithin(exchange, exchange.scopes, exchange.ctx.config);
}

/** The scopes of the grant, or those requested, which must be among them. The next refresh may request all again. */
function narrowScopes(exchange: RefreshExchange): void {
  const { ctx, input, presented } = exchange;
  if (input.scope) exchange.scopes = exactScopes(exchange, input.scope, ctx.config);
  else requireWithin(exchange, (exchange.scopes = presented.scopes), ctx.config);
  if (!coversAll(presented.scopes, exchange.scopes))
    throw oauthFailure("invalid_scope", "The user has not granted all of the requested scopes.");
}

function requestScopes(exchange: ClientExchange): void {
  exchange.scopes = exactScopes(exchange, exchange.input.scope, exchange.ctx.config);
}

/**
 * Counts the use of a right code, refresh token, or secret as a request of what it belongs to: of a grant, of a device, or
 * of an application.
 */
function countUse({ ctx, client, presented, isFirst }: AnyExchange): void {
  if (isFirst) ctx.services.limits.countClient(ctx, (presented && (presented.grantId ?? presented.id)) ?? client.id);
}

/** Deletes codes a day after they expired: until then, replays of used ones are detected. */
export const codePurge = purge("oauth2_codes", { by: "expires_at", keptFor: day });

/** Deletes refresh tokens once their grant has ended. Until then, reuse of spent ones is detected. */
export const refreshTokenPurge = purge("oauth2_refresh_tokens", {
  by: "g.expires_at",
  join: "join oauth2_grants g on g.id = t.grant_id",
});
