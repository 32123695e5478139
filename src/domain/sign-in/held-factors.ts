// Which accounts hold a second factor: an authenticator, or a passkey.
import { type InferResult, type RawBuilder, sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Db } from "../../infrastructure/database/database.js";
import { ProofWay } from "../kernel/actor.js";

const a = columnsOf("authenticators", "a");
const p = columnsOf("passkeys", "p");
const u = columnsOf("users", "u");

/** The condition that a user has a passkey. */
export const hasPasskey = (userId: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`exists (select from passkeys p where ${p.userId} = ${userId})`;

/** The condition that a user holds a second factor, which sign-in asks for. */
export const holdsFactor = (userId: RawBuilder<unknown>): RawBuilder<boolean> =>
  sql<boolean>`(exists (
    select from authenticators a where ${a.userId} = ${userId} and ${a.confirmedAt} is not null) or ${hasPasskey(userId)})`;

/** Selects the factors of a user: the confirmed authenticator, if any, and whether there are passkeys. */
const factors = (db: Db, userId: string) =>
  db
    .selectFrom("users as u")
    .leftJoin("authenticators as a", (join) => join.onRef("a.userId", "=", "u.id").on("a.confirmedAt", "is not", null))
    .where("u.id", "=", userId)
    .select(["a.id", "a.confirmedAt", "a.lastStep", "a.keyId", "a.secretNonce", "a.secretCiphertext"])
    .select(hasPasskey(u.id).as("hasPasskey"));

type FactorRow = InferResult<ReturnType<typeof factors>>[number];

/** A confirmed authenticator as it is stored. */
export type StoredAuthenticator = { userId: string; id: string } & Omit<FactorRow, "id" | "hasPasskey">;

/** The second factors that an account holds, at least one. */
export interface HeldFactors {
  authenticator: StoredAuthenticator | undefined;
  hasPasskey: boolean;
}

/** Reads the second factors of a user; `undefined` for a user who holds none. */
export async function factorsOf(db: Db, userId: string): Promise<HeldFactors | undefined> {
  const row = await factors(db, userId).executeTakeFirst();
  if (!row || (row.id === null && !row.hasPasskey)) return undefined;
  const { hasPasskey: has, id, ...rest } = row;
  return { authenticator: id === null ? undefined : { ...rest, userId, id }, hasPasskey: has };
}

/** How the holder of factors can give one: with a passkey, or with a code, which may be a recovery code. */
export const waysOf = ({ hasPasskey: has }: Pick<HeldFactors, "hasPasskey">): ProofWay[] =>
  has ? [ProofWay.PASSKEY, ProofWay.ONE_TIME_CODE] : [ProofWay.ONE_TIME_CODE];
