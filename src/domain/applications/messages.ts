import { randomUUID } from "node:crypto";
import { EncryptJWT, errors, type JWTPayload, jwtDecrypt } from "jose";
import type { Context } from "../kernel/context.js";
import { isUuid } from "../kernel/text.js";
import { parseToken } from "../tokens/text.js";
import { openingKey, sealingKey } from "./key-ring.js";

/** Seconds for which a message counts, and by how much clocks may go wrong before it. */
const lifetime = 60;
const leeway = 30;

/** What hands an application key to whoever serves applications at an origin. */
export interface Message {
  /** Whose derived key opens it: the id of a proxy, or of the deployment. */
  recipient: string;
  /** The origin that it is meant for. */
  audience: string;
  userId: string;
  apiKey: string;
}

/** Writes a message as JWE (RFC 7516, `dir` with A256GCM): nobody but its recipient can read it. */
export async function sealMessage(ctx: Context, message: Message): Promise<string> {
  const { kid, key } = await sealingKey(ctx, message.recipient);
  const now = Math.floor(Date.now() / 1000);
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

/** A message that was opened. */
export interface OpenedMessage {
  id: string;
  apiKey: string;
  /** RFC 3339. */
  expiresAt: string;
}

/** Reads a message that is meant for this recipient at this origin, now; `undefined` for everything else. */
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
