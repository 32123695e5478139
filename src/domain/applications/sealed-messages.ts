import { randomUUID } from "node:crypto";
import { EncryptJWT, errors, type JWTPayload, jwtDecrypt } from "jose";
import { databaseTime } from "../../runtime/clock.js";
import type { Context } from "../kernel/context.js";
import { isUuid } from "../../runtime/text.js";
import { parseToken } from "../tokens/token-text.js";
import { openingKey, sealingKey } from "./key-ring.js";

/** Lifetime of a message, and tolerated clock skew before its start, in seconds. */
const lifetime = 60;
const leeway = 30;

/** A message that passes an application key to the application server at an origin. */
export interface Message {
  /** The id of the proxy or deployment whose derived key opens it. */
  recipient: string;
  /** The origin at which it is valid. */
  audience: string;
  userId: string;
  apiKey: string;
}

/** Encrypts a message for its recipient as JWE (RFC 7516, `dir` with A256GCM). */
export async function sealMessage(ctx: Context, message: Message): Promise<string> {
  const { kid, key } = await sealingKey(ctx, message.recipient);
  const now = Math.floor(databaseTime() / 1000);
  return new EncryptJWT({ api_key: message.apiKey })
    .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid, typ: "JWT" })
    .setIssuer(ctx.config.accessUrl)
    .setAudience(message.audience)
    .setSubject(message.userId)
    .setJti(randomUUID())
    .setIssuedAt(now)
    .setNotBefore(now - leeway)
    .setExpirationTime(now + lifetime)
    .encrypt(key);
}

/** The content of a valid message. */
export interface OpenedMessage {
  id: string;
  apiKey: string;
  /** RFC 3339. */
  expiresAt: string;
}

/** Decrypts a message; returns `undefined` unless it is valid now, for the recipient and the origin. */
export async function openMessage(
  ctx: Context,
  text: string,
  { recipient, audience }: Pick<Message, "recipient" | "audience">,
): Promise<OpenedMessage | undefined> {
  try {
    const keyOf = async ({ kid = "" }: { kid?: string }) =>
      (await openingKey(ctx, recipient, kid)) ?? Promise.reject(new errors.JWEInvalid("Unknown key."));
    const { payload } = await jwtDecrypt<JWTPayload & { api_key?: unknown }>(text, keyOf, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
      typ: "JWT",
      issuer: ctx.config.accessUrl,
      audience,
      currentDate: new Date(databaseTime()),
      requiredClaims: ["jti", "nbf", "exp"],
    });
    return asOpened(payload);
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function asOpened({
  jti = "",
  exp = 0,
  api_key: apiKey,
}: JWTPayload & { api_key?: unknown }): OpenedMessage | undefined {
  const isKey = typeof apiKey === "string" && parseToken(apiKey)?.kind === "application";
  return isKey && isUuid(jti) ? { id: jti, apiKey, expiresAt: new Date(exp * 1000).toISOString() } : undefined;
}
