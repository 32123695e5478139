import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { NotNull } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { pageKeys } from "../encryption/columns.js";
import type { Context, Services } from "../kernel/context.js";
import { unavailable } from "../kernel/errors.js";
import { readDeploymentId } from "./deployment.js";

/**
 * Authenticates values that browsers store (HMAC-SHA-256), each for one purpose. All replicas share the key, which is
 * stored encrypted in the database.
 */
export class Seals {
  #key: Buffer | undefined;

  constructor(private readonly services: Pick<Services, "database" | "vault">) {}

  /** Computes the authentication code of a text. */
  async mark(purpose: string, text: string): Promise<string> {
    // Read lazily: services are created before the database is ready.
    this.#key ??= await readPageKey(this.services);
    return createHmac("sha256", this.#key).update(`${purpose}\0${text}`).digest("base64url");
  }

  /** Reports whether this is the authentication code of the text. Compares in constant time. */
  async isMark(purpose: string, text: string, given: string): Promise<boolean> {
    const expected = Buffer.from(await this.mark(purpose, text));
    const actual = Buffer.from(given);
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  }

  /** Appends the authentication code to a text, which stays readable. */
  seal = async (purpose: string, text: string): Promise<string> => `${text}.${await this.mark(purpose, text)}`;

  /** Returns the text if it was sealed for this purpose, else `undefined`. */
  async open(purpose: string, sealed: string | undefined): Promise<string | undefined> {
    const [text = "", mark = ""] = sealed?.split(".") ?? [];
    return (await this.isMark(purpose, text, mark)) ? text : undefined;
  }
}

const pageKey = (db: Db) =>
  db
    .selectFrom("deployment")
    .select(["id", "keyId", "pageKeyNonce as nonce", "pageKeyCiphertext as ciphertext"])
    .where("keyId", "is not", null)
    .$narrowType<{ keyId: NotNull; nonce: NotNull; ciphertext: NotNull }>();

const placeOf = (id: string) => pageKeys.place({ id, ownerId: id });

async function readPageKey({ database, vault }: Pick<Services, "database" | "vault">): Promise<Buffer> {
  const row = await pageKey(database.db).executeTakeFirst();
  if (!row) throw unavailable("The deployment has no page key. The next start of a server creates it.");
  return Buffer.from(vault.open(placeOf(row.id), row), "base64url");
}

/** Creates the key if there is none, or none that can be decrypted. The caller holds the boot lock. */
export async function ensurePageKey(ctx: Context): Promise<void> {
  if (await pageKey(ctx.db).executeTakeFirst()) return;
  const deploymentId = await readDeploymentId(ctx);
  const plain = randomBytes(32).toString("base64url");
  const { keyId, nonce, ciphertext } = ctx.services.vault.seal(placeOf(deploymentId), plain);
  await ctx.db
    .updateTable("deployment")
    .set({ keyId, pageKeyNonce: nonce, pageKeyCiphertext: ciphertext })
    .where("keyId", "is", null)
    .execute();
}
