// Keys that tests insert: dozens of sign-ins would take seconds, and applications get theirs only after a consent.
import { inMs, tomorrow } from "./clock.js";
import { bytes } from "./oauth2.js";
import { insert } from "./stage.js";
import { newToken, type NewToken, type TokenKind } from "./token-rows.js";
import type { Person, World } from "./world.js";

/** Inserts a key of a user, by default with all scopes. */
export async function insertKey(
  w: World,
  { id: user_id }: Pick<Person, "id">,
  kind: TokenKind,
  scopes: string[] = ["all"],
): Promise<NewToken> {
  const key = newToken(kind);
  const times = { created_at: "now", expires_at: tomorrow() };
  const row = {
    id: key.id,
    user_id,
    kind,
    name: kind === "token" ? key.id : "",
    scopes,
    secret_hash: bytes(key.secretHash),
    ...times,
  };
  await insert(w, { api_keys: [row] });
  return key;
}

/** Inserts keys of a user that open nothing, each a minute older than the one before it. Returns their ids, newest first. */
export async function insertKeys(
  w: World,
  { id: user_id }: Pick<Person, "id">,
  kind: TokenKind,
  count: number,
): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: newToken(kind).id,
    user_id,
    kind,
    name: kind === "token" ? `filler-${index + 1}` : "",
    scopes: ["all"],
    secret_hash: "\\x",
    created_at: inMs(-60_000 * (index + 1)),
    expires_at: tomorrow(),
  }));
  await insert(w, { api_keys: rows });
  return rows.map(({ id }) => id);
}
