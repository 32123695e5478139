import { type Expression, type InferResult, type RawBuilder, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { prepare } from "../../infrastructure/database/prepared.js";
import type { Context } from "../kernel/context.js";
import { onViolation } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { epochOf } from "../tokens/api-keys.js";
import { isSecretOf, newToken } from "../tokens/token-text.js";
import {
  type AuthenticatedClient,
  clientCredentials,
  credential,
  invalidClient,
  namedClient,
} from "./client-authentication.js";
import { GrantType } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { isLive, revokeGrants, type RevokeReason } from "./grants.js";
import { limitServiceTokens } from "./service-tokens.js";
import { newSecret, parseSecret, type SecretKind } from "./secrets.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { bytes, inputOf, type Input, listOf, oneOfTexts, optional, pasted, required } from "../kernel/values.js";
import { scopeNotice, scopeValue } from "./requested-scopes.js";
import { codeVerifierValue } from "./pkce.js";
import { longestUri } from "./redirect-uris.js";
import { resourceNotice, resourceUri } from "./audiences.js";

/** The columns that all kinds of presented credentials have, and those of a refresh token. */
const any = columnsOf<"oauth2Codes" | "oauth2DeviceCodes" | "oauth2RefreshTokens">("oauth2Codes", "p");
const p = columnsOf("oauth2RefreshTokens", "p");
const grants = columnsOf("oauth2Grants");
const refreshTokenColumns = columnsOf("oauth2RefreshTokens");
const keys = columnsOf("apiKeys");
const u = columnsOf("users", "u");
const g = columnsOf("oauth2Grants", "g");
const live = columnsOf("oauth2Grants", "live");
const r = columnsOf("oauth2Grants", "r");

/** A request for tokens (RFC 6749 §4, RFC 8628 §3.4). Which parameters it needs depends on the grant type. */
export const IssueOAuth2Token = inputOf({
  ...clientCredentials,
  clientId: namedClient,
  grantType: required(
    oneOfTexts(Object.values(GrantType)),
    "`authorization_code`, `refresh_token`, `client_credentials`, or `urn:ietf:params:oauth:grant-type:device_code`.",
  ),
  code: optional(pasted(credential), "Authorization code. Required for `authorization_code`."),
  redirectUri: optional(bytes(0, longestUri), "Redirect URI of the authorization request. May be omitted."),
  codeVerifier: optional(
    codeVerifierValue,
    "PKCE code verifier (RFC 7636). Required if the authorization request had a code challenge.",
  ),
  refreshToken: optional(pasted(credential), "Refresh token. Required for `refresh_token`."),
  deviceCode: optional(pasted(credential), "Device code. Required for the grant type of device codes."),
  scope: optional(scopeValue, `${scopeNotice} For \`refresh_token\`, scopes of the grant; default: all of them.`),
  resource: optional(
    listOf(resourceUri),
    `${resourceNotice} If there is a grant, resources of the grant; default: all of them.`,
  ),
});
export type IssueOAuth2Token = Input<typeof IssueOAuth2Token>;

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
  /** The credential that the application presents. */
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
    /** Whether no other exchange of the request has come before. */
    readonly isFirst: boolean,
  ) {}
}

export type CodeExchange = Exchange<PresentedCode>;
export type RefreshExchange = Exchange<PresentedRefreshToken>;
export type ClientExchange = Exchange<undefined>;
export type DeviceExchange = Exchange<PresentedDeviceCode>;

/** Ends the grant of what is presented, although the request fails. */
export const revokeAfterwards = ({ ctx, presented }: CodeExchange | RefreshExchange, reason: RevokeReason): void =>
  ctx.afterRollback(async (afresh) => void (await revokeGrants(afresh, [presented.grantId], reason, "application")));

/** Whether what is presented, `p`, has expired, or its grant `g` has ended, or the user `u` is suspended. */
const isOver = sql<boolean>`not (${any.expiresAt} > now() and ${isLive} and u.status = 'active' and ${u.deletedAt} is null)`;

const codes = (db: Db, id: string) =>
  db
    .selectFrom("oauth2Codes as p")
    .innerJoin("oauth2Grants as g", "g.id", "p.grantId")
    .innerJoin("users as u", "u.id", "g.userId")
    .where("p.id", "=", id)
    .select(["p.id", "p.secretHash", "g.clientId", "p.grantId", "g.scopes", "g.audiences"])
    .select(["p.redirectUri", "p.codeChallenge", "p.state", isOver.as("isOver")]);

/**
 * Maximum number of successors of a refresh token: pages of one application in several tabs, and its processes, refresh at
 * the same moment, 6 to 18 of them.
 */
const mostSuccessors = 30;

/** Maximum number of refresh tokens of a grant that can be used. */
const mostLiveTokens = 60;

/**
 * The condition that a refresh token `p` was spent before the grace period. `wasUnused` means that the request read the
 * token as unused. The first use was then committed after that read, so it counts as recent even if it began long ago.
 */
function isSpent(hasGrace: boolean, grace: Expression<unknown>, wasUnused = false): RawBuilder<SqlBool> {
  if (!hasGrace) return sql`${p.spentAt} is not null`;
  return wasUnused ? sql`false` : sql`coalesce(${p.spentAt} <= now() - ${seconds(grace)}, false)`;
}

/** The condition that a refresh token `p` has all successors that it can have. Each repeat of its use got another one. */
const isExhausted = sql<boolean>`(${p.spentAt} is not null and p.repeats >= ${sql.lit(mostSuccessors - 1)})`;

const refreshTokens = (db: Db, id: Expression<string>, hasGrace: boolean, grace: Expression<unknown>) =>
  db
    .selectFrom("oauth2RefreshTokens as p")
    .innerJoin("oauth2Grants as g", "g.id", "p.grantId")
    .innerJoin("users as u", "u.id", "g.userId")
    .where("p.id", "=", id)
    .select(["p.id", "p.secretHash", "g.clientId", "p.grantId", "g.scopes", "g.audiences"])
    .select((eb) => [
      eb("p.spentAt", "is not", null).as("isUsed"),
      // Whether it was used before the grace period.
      isSpent(hasGrace, grace).as("isSpent"),
      isExhausted.as("isExhausted"),
      isOver.as("isOver"),
    ]);

/** Device codes have a grant once the user has approved them. */
const deviceCodes = (db: Db, id: string) =>
  db
    .selectFrom("oauth2DeviceCodes as p")
    .leftJoin("oauth2Grants as g", "g.id", "p.grantId")
    .leftJoin("users as u", "u.id", "g.userId")
    .where("p.id", "=", id)
    .select(["p.id", "p.secretHash", "p.clientId", "p.grantId", "p.state"])
    .select(({ eb, fn }) => [
      fn.coalesce("g.scopes", "p.scopes").as("scopes"),
      fn.coalesce("g.audiences", "p.audiences").as("audiences"),
      eb("p.expiresAt", "<=", now).as("isExpired"),
      sql<boolean>`(g.id is null or ${isOver})`.as("isOver"),
    ]);

type PresentedCode = InferResult<ReturnType<typeof codes>>[number];
type PresentedRefreshToken = InferResult<ReturnType<typeof refreshTokens>>[number];
type PresentedDeviceCode = InferResult<ReturnType<typeof deviceCodes>>[number];

/**
 * Finds what has the text; `undefined` for texts that are not valid. Reads outside of the transaction of the request.
 */
async function find<Row extends { secretHash: Buffer }>(
  kind: SecretKind,
  text: string | null | undefined,
  read: (id: string) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  const parsed = parseSecret(kind, text ?? "");
  const found = parsed && (await read(parsed.id));
  return found && isSecretOf(found.secretHash, parsed.secret) ? found : undefined;
}

/** Finds an authorization code by its text. */
export const findCode = ({ services }: Context, text: string | null | undefined) =>
  find("code", text, (id) => codes(services.database.db, id).executeTakeFirst());

const refreshTokensBy = (hasGrace: boolean) =>
  prepare<{ id: string; grace: number }, PresentedRefreshToken>((db, { id, grace }) =>
    refreshTokens(db, id, hasGrace, grace),
  );
const [refreshTokensAtOnce, refreshTokensWithGrace] = [refreshTokensBy(false), refreshTokensBy(true)];

/** Finds a refresh token by its text. */
export const findRefreshToken = ({ services, config }: Context, text: string | null | undefined) => {
  const grace = config.oauth2RefreshGrace / 1000;
  const read = grace > 0 ? refreshTokensWithGrace : refreshTokensAtOnce;
  return find("refreshToken", text, async (id) => (await read(services.database.db, { id, grace }))[0]);
};

/** Finds a device code by its text. */
export const findDeviceCode = ({ services }: Context, text: string | null | undefined) =>
  find("deviceCode", text, (id) => deviceCodes(services.database.db, id).executeTakeFirst());

/** The failure of codes and tokens that are not valid for the application, whatever the reason (RFC 6749 §5.2). */
export const invalidGrant = (description = "It is not valid, has expired, or was issued to another application.") =>
  oauthFailure("invalid_grant", description);

/** The values of statements that issue tokens. Which of them a statement needs depends on the credential that it redeems. */
interface Values {
  /** The credential that is presented, its grant, and the application with its secret. */
  id: string | null;
  grantId: string | null;
  clientId: string | null;
  secretId: string | null;
  secretExpiresAt: string | null;
  serviceUserId: string | null;
  /** The new tokens. */
  accessId: string;
  accessHash: Buffer;
  refreshId: string | null;
  refreshHash: Buffer | null;
  scopes: readonly string[];
  audiences: readonly string[];
  ip: string | null;
  userAgent: string | null;
  /** Seconds. */
  accessTtl: number;
  refreshTtl: number;
  grantTtl: number;
  grace: number;
}
type Given = { readonly [Name in keyof Values]: RawBuilder<Values[Name]> };
type Issued = Pick<IssuedTokens, "expiry" | "expiresIn"> & { id: string | null; isRepeat: boolean };
type Issuing = (db: Db, values: Values) => Promise<Issued[]>;

const seconds = (count: Expression<unknown>) => sql`make_interval(secs => ${count})`;

/** Spends the code of an exchange, and issues tokens. */
export const redeemCode = (exchange: CodeExchange) => issue(exchange, redeemingCode);

/** Spends the device code of an exchange, which the user has approved, and issues tokens. */
export const redeemDeviceCode = (exchange: DeviceExchange) => issue(exchange, redeemingDeviceCode);

/** Redeems a row that can be redeemed once, and extends the grant to its full lifetime. */
const redeemingOnce =
  (spend: RawBuilder<unknown>, before: string) =>
  ({ id, grantId, secretId, grantTtl }: Given) =>
    sql`
  ${lockingGrant(grantId)}, spent as (
    ${spend} from live
    where p.id = ${id} and ${any.grantId} = live.id and p.state = ${sql.lit(before)} and ${any.expiresAt} > now()
    returning live.id
  ), redeemed as (
    update oauth2_grants g
    set ${grants.secretId} = ${secretId}, ${grants.lastUsedAt} = now(),
      ${grants.expiresAt} = now() + ${seconds(grantTtl)}
    from spent where g.id = spent.id
    returning g.id, ${g.userId}, ${g.expiresAt}
  )`;

/** Locks the grant before what belongs to it, as its revocation does. */
const lockingGrant = (id: Expression<string | null>) => sql`
  live as (
    select g.id, ${g.userId}, ${g.secretId}, ${g.lastUsedAt}, ${g.expiresAt} from oauth2_grants g
    where g.id = ${id} and ${isLive} for no key update
  )`;

/** Spends a refresh token, which the request read as used or not. */
const redeemingRefreshToken =
  (hasGrace: boolean, isUsed: boolean) =>
  ({ id, grantId, secretId, grace }: Given) =>
    sql`
  ${lockingGrant(grantId)}, redeemed as (
    update oauth2_refresh_tokens p
    set ${refreshTokenColumns.spentAt} = coalesce(${p.spentAt}, clock_timestamp()), repeats = p.repeats + (${p.spentAt} is not null)::int
    from live
    where p.id = ${id} and ${p.grantId} = live.id and ${p.expiresAt} > now()
      and not ${isSpent(hasGrace, grace, !isUsed)} and not ${isExhausted}
    returning live.id, ${live.userId}, ${live.secretId}, ${live.lastUsedAt}, ${live.expiresAt}, p.repeats
  ), touched as (
    update oauth2_grants g set ${grants.secretId} = ${secretId}, ${grants.lastUsedAt} = now()
    from redeemed r
    where g.id = r.id
      and (${r.secretId} is distinct from ${secretId} or ${r.lastUsedAt} < now() - interval '5 minutes')
  )`;

/**
 * Spends the refresh token of an exchange, and issues its successor with an access token. Each repeat within the grace
 * period gets another successor, and all of them are valid; those of a grant beyond the maximum end. The grace period begins when other requests see the first
 * use: if the commit took more than a tenth of the period, the time of the use is stored again after the commit.
 */
export async function rotateRefreshToken(exchange: RefreshExchange): Promise<void> {
  const { ctx, presented } = exchange;
  const { id, isUsed } = presented;
  const { oauth2RefreshGrace: grace } = ctx.config;
  const start = performance.now();
  await issue(exchange, refreshing[grace > 0 ? "withGrace" : "atOnce"][isUsed ? "used" : "unused"]);
  if (!exchange.tokens || isUsed) return;
  ctx.afterCommit(async () => {
    if (performance.now() - start <= grace / 10) return;
    const { db } = ctx.services.database;
    await db.updateTable("oauth2RefreshTokens").set({ spentAt: now }).where("id", "=", id).execute();
  });
}

/**
 * Issues an access token that acts as the service account of the application. It has no grant: it names the application and
 * its secret, and ends with either, and so at the latest when the secret expires.
 */
export async function useServiceAccount(exchange: ClientExchange): Promise<void> {
  const { ctx, client } = exchange;
  await issue(exchange, usingServiceAccount);
  if (!exchange.tokens) throw oauthFailure("unauthorized_client", "The application has no active service account.");
  if (ctx.services.clients.isTimeToLimit(client.id)) ctx.afterCommit(() => limitServiceTokens(ctx, client.id));
}

/**
 * Uses the service account without a lock, for which all of its requests would queue: a suspension at the same moment begins
 * another epoch of its credentials, and a deletion is noticed at each use.
 */
const redeemingNothing = ({ serviceUserId, secretExpiresAt }: Given) => sql`
  redeemed as (
    select null::uuid as id, u.id as ${grants.userId},
      coalesce(${secretExpiresAt}::timestamptz, 'infinity') as ${grants.expiresAt}
    from users u
    where u.id = ${serviceUserId} and ${u.isServiceAccount} and u.status = 'active' and ${u.deletedAt} is null
  )`;

/** Applications and secrets can be deleted while they are in use. */
const onDeletion = onViolation({
  api_keys_client_secret_id_foreign: invalidClient,
  oauth2_grants_secret_id_foreign: invalidClient,
});

interface IssuingOptions {
  mayRefresh: boolean;
  /** Whether the token names the application, as it has no grant. */
  isNamed?: boolean;
  /** The condition that the credential had been redeemed before: only then does the grant get more refresh tokens. */
  isRepeat?: RawBuilder<unknown>;
}

/**
 * Declares the statement that redeems a credential and issues the tokens: both see the same snapshot, and one statement
 * costs less than two. `redeeming` has the common table expressions that redeem the credential. The last one, `redeemed`,
 * returns the `id`, `user_id` and `expires_at` of the grant, or no row if no tokens may be issued.
 */
const issuing = (
  redeeming: (values: Given) => RawBuilder<unknown>,
  { mayRefresh, isNamed = false, isRepeat = sql`false` }: IssuingOptions,
): Issuing =>
  prepare<Values, Issued>((db, values) => {
    const refreshing = mayRefresh
      ? sql`, refresh as (
          insert into oauth2_refresh_tokens (id, ${refreshTokenColumns.secretHash}, ${refreshTokenColumns.grantId},
            ${refreshTokenColumns.createdAt}, ${refreshTokenColumns.expiresAt})
          select ${values.refreshId}, ${values.refreshHash}, id, now(),
            least(now() + ${seconds(values.refreshTtl)}, expires_at)
          from redeemed)`
      : sql``;
    const statement = sql<Issued>`
      with ${redeeming(values)}${refreshing}, access as (
        insert into api_keys
          (id, ${keys.secretHash}, ${keys.userId}, epoch, kind, scopes, audiences, ${keys.grantId}, ${keys.clientId},
            ${keys.clientSecretId}, ${keys.createdAt}, ${keys.expiresAt}, ip, ${keys.userAgent})
        select ${values.accessId}, ${values.accessHash}, user_id, ${epochOf(sql.ref("redeemed.user_id"))}, 'oauth',
          ${values.scopes}, ${values.audiences}, id, ${isNamed ? values.clientId : sql`null`},
          ${isNamed ? values.secretId : sql`null`}, now(), least(now() + ${seconds(values.accessTtl)}, expires_at),
          ${values.ip}, ${values.userAgent}
        from redeemed
        returning ${keys.expiresAt}, ${keys.grantId}
      )
      select ${keys.expiresAt} as expiry, round(extract(epoch from ${keys.expiresAt} - now()))::int as "expiresIn",
        ${keys.grantId} as id, ${isRepeat} as "isRepeat"
      from access`;
    return { compile: () => statement.compile(db) };
  });

/** The statements that issue an access token alone, or with a refresh token. */
const withOrWithoutRefresh = (redeeming: (values: Given) => RawBuilder<unknown>) => ({
  alone: issuing(redeeming, { mayRefresh: false }),
  refreshable: issuing(redeeming, { mayRefresh: true }),
});
const redeemingCode = withOrWithoutRefresh(redeemingOnce(sql`update oauth2_codes p set state = 'used'`, "issued"));
const redeemingDeviceCode = withOrWithoutRefresh(
  redeemingOnce(sql`update oauth2_device_codes p set state = 'redeemed'`, "approved"),
);
const isRepeat = sql`(select repeats > 0 from redeemed)`;
const refreshingBy = (hasGrace: boolean) => ({
  used: issuing(redeemingRefreshToken(hasGrace, true), { mayRefresh: true, isRepeat }),
  unused: issuing(redeemingRefreshToken(hasGrace, false), { mayRefresh: true, isRepeat }),
});
const refreshing = { withGrace: refreshingBy(true), atOnce: refreshingBy(false) };
const usingServiceAccount = issuing(redeemingNothing, { mayRefresh: false, isNamed: true });

/** Redeems the credential of an exchange and issues the tokens. */
async function issue(
  exchange: Exchange<{ id: string; grantId: string | null } | undefined>,
  by: Issuing | ReturnType<typeof withOrWithoutRefresh>,
): Promise<void> {
  const { ctx, client, presented, scopes, audiences } = exchange;
  const { oauth2AccessTtl, oauth2RefreshTtl, oauth2GrantTtl, oauth2RefreshGrace } = ctx.config;
  const access = newToken("oauth");
  const mayRefresh = client.grantTypes.includes("refresh_token") && by !== usingServiceAccount;
  const refresh = mayRefresh ? newSecret("refreshToken") : undefined;
  const statement = typeof by === "function" ? by : by[mayRefresh ? "refreshable" : "alone"];
  // The statement is its own transaction. From here on, the request does not time out before it.
  ctx.beginCommit();
  const [issued] = await statement(ctx.services.database.writes, {
    id: presented?.id ?? null,
    grantId: presented?.grantId ?? null,
    clientId: client.id,
    secretId: client.secretId,
    secretExpiresAt: client.secretExpiresAt,
    serviceUserId: client.serviceUserId,
    accessId: access.id,
    accessHash: access.secretHash,
    refreshId: refresh?.id ?? null,
    refreshHash: refresh?.secretHash ?? null,
    scopes,
    audiences,
    ip: ctx.request.ip ?? null,
    userAgent: ctx.request.userAgent ?? null,
    accessTtl: oauth2AccessTtl / 1000,
    refreshTtl: oauth2RefreshTtl / 1000,
    grantTtl: oauth2GrantTtl / 1000,
    grace: oauth2RefreshGrace / 1000,
  }).catch(onDeletion);
  if (!issued) return;
  const { id: grantId, isRepeat: isAnother, ...expiry } = issued;
  if (refresh && isAnother && grantId !== null)
    ctx.afterCommit(() => endSurplus(ctx.services.database.writes, grantId, refresh.id));
  exchange.tokens = { accessToken: access.text, refreshToken: refresh?.text, scope: scopes.join(" "), ...expiry };
}

/**
 * Ends the oldest unused refresh tokens of a grant beyond the maximum, except for the one just issued. Sees the tokens of
 * all that were issued before: whatever is issued later ends its own surplus.
 */
const endSurplus = async (db: Db, grantId: string, issuedId: string): Promise<void> => {
  await db
    .deleteFrom("oauth2RefreshTokens")
    .where("id", "in", (eb) =>
      eb
        .selectFrom("oauth2RefreshTokens")
        .where("grantId", "=", grantId)
        .where("spentAt", "is", null)
        .where("expiresAt", ">", now)
        .where("id", "<>", issuedId)
        .orderBy("createdAt", "desc")
        .orderBy("id", "desc")
        .offset(mostLiveTokens - 1)
        .select("id"),
    )
    .execute();
};
