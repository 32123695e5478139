import { OAuth2Code, OAuth2DeviceCode } from "../../entities/oauth2.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, type Statement } from "../kernel/database.js";
import { isSecretOf } from "../tokens/text.js";
import { oauthFailure } from "./failures.js";
import { parseSecret, type SecretKind } from "./secrets.js";

/** A code or refresh token that an application presents for tokens, and its grant. */
interface Presented {
  id: string;
  secretHash: Buffer;
  /** The application that it was issued to. */
  clientId: string;
  grantId: string;
  scopes: string[];
  audiences: string[];
  /** Whether it has expired, or its grant has ended, or the user is suspended. */
  isOver: boolean;
}

const codeColumns = columnsOf(OAuth2Code, "p", ["redirectUri", "codeChallenge", "state"]);

/** An authorization code. */
export interface PresentedCode extends Presented, RowOf<typeof codeColumns> {
  state: "issued" | "used" | "burnt";
}

/** A refresh token. */
export interface PresentedRefreshToken extends Presented {
  /** Whether it has been used. */
  isUsed: boolean;
  /** Whether it was used before the grace period, or too often. */
  isSpent: boolean;
}

const deviceColumns = columnsOf(OAuth2DeviceCode, "p", ["state"]);

/** A device code. It has a grant once the user has approved it. */
export interface PresentedDeviceCode extends Omit<Presented, "grantId">, RowOf<typeof deviceColumns> {
  grantId: string | null;
  state: "pending" | "approved" | "denied" | "redeemed";
  isExpired: boolean;
}

const liveGrant = `g.revoked_at is null and g.expires_at > now() and u.status = 'active' and u.deleted_at is null`;

const withGrant = `p.id, p.secret_hash as "secretHash", g.client_id as "clientId", g.id as "grantId", g.scopes, g.audiences,
  not (p.expires_at > now() and ${liveGrant}) as "isOver"`;

const codeById = lookup<PresentedCode>(`
  select ${withGrant}, ${codeColumns}
  from oauth2_codes p join oauth2_grants g on g.id = p.grant_id join users u on u.id = g.user_id where p.id = $1`);

/** Maximum number of times that a spent refresh token is accepted within the grace period. */
const mostRepeats = 3;

/**
 * The condition that a refresh token may be used, for the first time or again within `grace` seconds. For a request that
 * read it as unused, `wasUnused`, the first use became visible only now, however long ago it began.
 */
export const isUsable = (alias: string, grace: string, wasUnused = "false"): string =>
  `(${alias}.spent_at is null or ${grace} > 0 and ${alias}.repeats < ${mostRepeats}
    and (${wasUnused} or ${alias}.spent_at > now() - make_interval(secs => ${grace})))`;

const refreshTokenById = lookup<PresentedRefreshToken>(`
  select ${withGrant}, p.spent_at is not null as "isUsed", not ${isUsable("p", "$2::float8")} as "isSpent"
  from oauth2_refresh_tokens p join oauth2_grants g on g.id = p.grant_id join users u on u.id = g.user_id
  where p.id = $1`);

const deviceCodeById = lookup<PresentedDeviceCode>(`
  select p.id, p.secret_hash as "secretHash", p.client_id as "clientId", p.grant_id as "grantId", ${deviceColumns},
    coalesce(g.scopes, p.scopes) as scopes, coalesce(g.audiences, p.audiences) as audiences,
    p.expires_at <= now() as "isExpired", g.id is null or not (${liveGrant}) as "isOver"
  from oauth2_device_codes p
    left join oauth2_grants g on g.id = p.grant_id left join users u on u.id = g.user_id
  where p.id = $1`);

/** Finds what has the text; `undefined` for texts that are not valid. Reads outside of the transaction of the request. */
async function find<Row extends Pick<Presented, "secretHash">>(
  { services: { database } }: Context,
  byId: Statement<Row>,
  kind: SecretKind,
  text: string | null | undefined,
  ...values: unknown[]
): Promise<Row | undefined> {
  const parsed = parseSecret(kind, text ?? "");
  const [found] = parsed ? await database.query(byId, [parsed.id, ...values]) : [];
  return found && isSecretOf(found.secretHash, parsed!.secret) ? found : undefined;
}

/** Finds an authorization code by its text. */
export const findCode = (ctx: Context, text: string | null | undefined) => find(ctx, codeById, "code", text);

/** Finds a refresh token by its text. */
export const findRefreshToken = (ctx: Context, text: string | null | undefined) =>
  find(ctx, refreshTokenById, "refreshToken", text, ctx.config.oauth2RefreshGrace / 1000);

/** Finds a device code by its text. */
export const findDeviceCode = (ctx: Context, text: string | null | undefined) =>
  find(ctx, deviceCodeById, "deviceCode", text);

/** The failure of codes and tokens that are not valid for the application, whatever the reason (RFC 6749 §5.2). */
export const invalidGrant = (description = "It is not valid, has expired, or was issued to another application.") =>
  oauthFailure("invalid_grant", description);
