import { sql } from "kysely";
import type { ScimKeyActor } from "../kernel/actor.js";
import { anyOf, now } from "../kernel/queries.js";
import type { MachineTokens } from "../tokens/machines.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const k = columnsOf("scimKeys", "k");
const o = columnsOf("organizations", "o");

/** Keys of identity providers: `stwi_<id>_<secret>`. Id and secret are hashed together, which authenticates the id. */
export const scimKeys: MachineTokens<ScimKeyActor> = {
  kind: "scim_key",
  form: /^stwi_([0-9A-Za-z]{10}_[0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  find: (db, hashes) =>
    db
      .selectFrom("scimKeys as k")
      .where("k.tokenHash", "=", anyOf(hashes, "bytea"))
      .where((eb) => eb.or([eb("k.expiresAt", "is", null), eb("k.expiresAt", ">", now)]))
      .select(["k.id", "k.source", "k.lastUsedAt", "k.tokenHash"])
      .select(
        sql<string[]>`array(
          select o.id from unnest(${k.organizationIds}) with ordinality named (id, place) join organizations o using (id)
          where ${o.deletedAt} is null order by place)`.as("organizationIds"),
      )
      .execute(),
};

/** Generates a key. The text is returned to the operator once; only the hash is stored. */
export function newScimKey(): { id: string; text: string; hash: Buffer } {
  const id = randomText(10);
  const secret = `${id}_${randomText(43)}`;
  return { id, text: `stwi_${secret}`, hash: hashSecret(secret) };
}
