import type { Context } from "../kernel/context.js";
import { day, purge } from "../kernel/purge.js";
import { narrowedAudiences, requestedAudiences } from "./audiences.js";
import { authenticateClient, requireGrantType } from "./client-authentication.js";
import { GrantType } from "./client-rows.js";
import {
  checkCode,
  matchRedirectUri,
  narrowCodeAudience,
  refuseCodeReplay,
  verifyCodeChallenge,
} from "./code-checks.js";
import { requireApproval } from "./device-codes.js";
import {
  type ClientExchange,
  type CodeExchange,
  type DeviceExchange,
  Exchange,
  type IssuedTokens,
  type IssueOAuth2Token,
  type RefreshExchange,
  revokeAfterwards,
} from "./exchange.js";
import { oauthFailure, requireValues } from "./failures.js";
import { redeemCode, redeemDeviceCode, rotateRefreshToken, useServiceAccount } from "./issuing.js";
import { findCode, findDeviceCode, findRefreshToken, invalidGrant } from "./presented.js";
import { coversAll, requestedScopes, requireWithin } from "./scopes.js";
import { requireOAuth2 } from "./settings.js";

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
  on(requireApproval,                              D),   // RFC 8628 §3.5
  on(checkGrant,            C,    R,               D),   // RFC 6749 §5.2 invalid_grant
  on(checkCode,             C                       ),   // RFC 6749 §5.2 invalid_grant
  on(matchRedirectUri,      C                       ),   // RFC 6749 §4.1.3
  on(verifyCodeChallenge,   C                       ),   // RFC 7636 §4.6
  on(narrowCodeAudience,    C                       ),   // RFC 8707 §2.2
  on(narrowAudience,              R,               D),   // RFC 8707 §2.2
  on(requestAudience,                      K        ),   // RFC 8707 §2.2
  on(keepScopes,            C,                     D),   // RFC 6749 §3.3
  on(narrowScopes,                R                 ),   // RFC 6749 §6
  on(requestScopes,                        K        ),   // RFC 6749 §4.4.2
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
  const known = stepsByType.get(grantType!);
  if (!known) throw oauthFailure("unsupported_grant_type", "The grant type is not supported.");
  const tokens = (await attempt(ctx, known.type, input)) ?? (await attempt(ctx, known.type, input));
  if (!tokens) throw invalidGrant();
  return tokens;
}

async function attempt(ctx: Context, type: GrantType, input: IssueOAuth2Token): Promise<IssuedTokens | undefined> {
  const exchange = new Exchange(ctx, type, input) as AnyExchange;
  for (const { run } of stepsByType.get(type)!.steps) {
    const running = run(exchange);
    if (running) await running;
  }
  return exchange.tokens;
}

function requireParameters({ grantType, input }: AnyExchange): void {
  const { clientId, code, refreshToken, deviceCode } = input;
  const presented = { [C]: { code }, [R]: { refreshToken }, [K]: {}, [D]: { deviceCode } };
  requireValues({ clientId, ...presented[grantType] });
}

/** Authenticates the application, and finds what it presents in the same batch. */
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

/** Revokes the grant of a refresh token that was spent too long ago or too often. */
function refuseTokenReuse(exchange: RefreshExchange): void {
  if (!exchange.presented.isSpent) return;
  revokeAfterwards(exchange, "refresh_reuse");
  throw invalidGrant();
}

function checkGrant({ presented }: OwnedExchange): void {
  if (presented.isOver) throw invalidGrant();
}

function narrowAudience(exchange: RefreshExchange | DeviceExchange): void {
  const { ctx, input, presented } = exchange;
  exchange.audiences = narrowedAudiences(presented.audiences, input.resource, ctx.config);
}

async function requestAudience(exchange: ClientExchange): Promise<void> {
  exchange.audiences = await requestedAudiences(exchange.ctx, exchange.input.resource ?? []);
}

/** The scopes that the user consented to. The ceiling of the application may have become lower in the meantime. */
function keepScopes(exchange: CodeExchange | DeviceExchange): void {
  exchange.scopes = exchange.presented.scopes;
  requireWithin(exchange.client, exchange.scopes);
}

/** The scopes of the grant, or those requested, which must be among them. The next refresh may request all again. */
function narrowScopes(exchange: RefreshExchange): void {
  const { ctx, client, input, presented } = exchange;
  if (input.scope) exchange.scopes = requestedScopes(client, input.scope, ctx.config);
  else requireWithin(client, (exchange.scopes = presented.scopes));
  if (!coversAll(presented.scopes, exchange.scopes))
    throw oauthFailure("invalid_scope", "The user has not granted all of the requested scopes.");
}

function requestScopes(exchange: ClientExchange): void {
  exchange.scopes = requestedScopes(exchange.client, exchange.input.scope, exchange.ctx.config);
}

/** Deletes codes a day after they expired: until then, replays of used ones are detected. */
export const codePurge = purge("oauth2_codes", { by: "expires_at", keptFor: day });

/** Deletes refresh tokens once their grant has ended. Until then, reuse of spent ones is detected. */
export const refreshTokenPurge = purge("oauth2_refresh_tokens", {
  by: "g.expires_at",
  join: "join oauth2_grants g on g.id = t.grant_id",
});
