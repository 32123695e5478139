import { type InferResult, sql } from "kysely";
import { userSecretValues } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { anyOf, now } from "../kernel/queries.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { envNameProblem } from "./rules.js";

/** A secret that was left out, and why. */
export interface UndeliveredSecret {
  name: string;
  reason: string;
}

/** The secrets of a user, in the order of their names. A secret may be both a variable and a file. */
export interface OpenedSecrets {
  /** The ids of the secrets that are delivered. */
  ids: string[];
  variables: Array<{ name: string; value: string }>;
  files: Array<{ path: string; content: string }>;
  errors: UndeliveredSecret[];
}

export const noSecrets: OpenedSecrets = { ids: [], variables: [], files: [], errors: [] };

const injectedSecrets = ({ db }: Context, userId: string) =>
  db
    .selectFrom("userSecrets")
    .select(["id", "name", "envName", "filePath", "keyId", "valueNonce as nonce", "valueCiphertext as ciphertext"])
    .where("userId", "=", userId)
    .where((eb) => eb.or([eb("envName", "<>", ""), eb("filePath", "<>", "")]))
    .orderBy(sql`name collate "C"`);

type SealedSecret = InferResult<ReturnType<typeof injectedSecrets>>[number];

/**
 * Decrypts the secrets of a user that become variables or files. Leaves out those that cannot be delivered, and logs
 * them by id. Throws UNAVAILABLE if this server lacks a key. Checks no permission.
 */
export async function openSecrets(ctx: Context, userId: string): Promise<OpenedSecrets> {
  const opened: OpenedSecrets = { ids: [], variables: [], files: [], errors: [] };
  for (const secret of await injectedSecrets(ctx, userId).execute()) {
    const value = valueOf(ctx, userId, secret);
    const { id, name, envName, filePath } = secret;
    if (typeof value !== "string") {
      opened.errors.push({ name, ...value });
      ctx.services.deliveries.undelivered++;
      ctx.log.warn({ secret: id, reason: value.reason }, "A user secret cannot be delivered.");
      continue;
    }
    opened.ids.push(id);
    if (envName !== "") opened.variables.push({ name: envName, value });
    if (filePath !== "") opened.files.push({ path: filePath, content: value });
  }
  return opened;
}

/** The value of a secret, or why it cannot be delivered: names may be reserved after they were stored. */
function valueOf({ services }: Context, ownerId: string, secret: SealedSecret): string | { reason: string } {
  const problem = envNameProblem(secret.envName);
  if (problem) return { reason: problem };
  try {
    return services.vault.open(userSecretValues.place({ id: secret.id, ownerId }), secret);
  } catch (error) {
    if (error instanceof SealBroken) return { reason: "The stored value cannot be decrypted." };
    throw error;
  }
}

/** Records that an agent receives secrets. */
export async function recordDelivery(ctx: Context, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await ctx.db.updateTable("userSecrets").set({ lastDeliveredAt: now }).where("id", "=", anyOf(ids)).execute();
}
