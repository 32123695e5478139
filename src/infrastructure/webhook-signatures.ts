import { createHmac } from "node:crypto";

/** Prefix of secrets in their text form; the rest is base64. */
const prefix = "whsec_";

/** The format that `isWebhookSecret` accepts. Completes "must be". */
export const webhookSecretRule = `${prefix} followed by the base64 of 24 to 64 bytes`;

const secretPattern = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** Whether a text is a secret of Standard Webhooks. */
export function isWebhookSecret(text: string): boolean {
  const { length } = Buffer.from(secretPattern.exec(text)?.[1] ?? "", "base64");
  return length >= 24 && length <= 64;
}

/** The headers of Standard Webhooks: one signature for each secret, so that secrets can be replaced. */
export function signatureOf(
  id: string,
  body: string,
  at: Date,
  secrets: readonly string[],
): Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signed = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/** The text form of a secret. */
export const newWebhookSecret = (bytes: Buffer): string => prefix + bytes.toString("base64");
