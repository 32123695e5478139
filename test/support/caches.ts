// The cache of credentials of a replica.
// Looks inside: it is filled without requests.
import type { Credentials } from "../../src/domain/tokens/credentials.js";
import type { UserActor } from "../../src/domain/kernel/actor.js";

/** The holders of keys of a user. */
export function holdersOf(keys: readonly string[], userId: string): UserActor[] {
  const holder = { kind: "user", userId, credential: { parentId: null } } as unknown as UserActor;
  return keys.map((id): UserActor => ({ ...holder, credential: { ...holder.credential, id } }));
}

/** Reads all holders into the cache. Returns them as the cache has them. */
export async function renewAll(credentials: Pick<Credentials, "renew">, holders: readonly UserActor[]) {
  const held = [];
  // In parts: each waits for a connection.
  for (let n = 0; n < holders.length; n += 50)
    held.push(...(await Promise.all(holders.slice(n, n + 50).map((holder) => credentials.renew(holder)))));
  return held;
}
