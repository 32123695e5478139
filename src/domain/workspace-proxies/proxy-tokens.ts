import { type ProxyActor } from "../kernel/actor.js";
import { anyOf } from "../kernel/queries.js";
import type { MachineTokens } from "../tokens/machines.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";

/** Tokens of proxies: `stwp_<id>_<secret>`. Id and secret are hashed together, which authenticates the id. */
export const proxies: MachineTokens<ProxyActor> = {
  kind: "proxy",
  form: /^stwp_([0-9a-f]{32}_[0-9A-Za-z]{43})$/,
  malformed: "The token is not valid.",
  find: (db, hashes) =>
    db
      .selectFrom("workspaceProxies")
      .where("tokenHash", "=", anyOf(hashes, "bytea"))
      .where("deletedAt", "is", null)
      .select(["id", "tokenHash"])
      .execute(),
};

/** Generates a token of a proxy. The text is returned to the operator once; only the hash is stored. */
export function newProxyToken(proxyId: string): { text: string; hash: Buffer } {
  const secret = `${proxyId.replaceAll("-", "")}_${randomText(43)}`;
  return { text: `stwp_${secret}`, hash: hashSecret(secret) };
}
