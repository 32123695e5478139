// The caches of credentials of a replica, without its server.
// Looks inside: hints arrive without the requests of other replicas.
import { RecentClients } from "../../src/domain/oauth2/recent-clients.js";
import { Credentials } from "../../src/domain/tokens/credentials.js";
import type { UserActor } from "../../src/domain/kernel/actor.js";
import { InProcessEvents } from "../../src/infrastructure/events/in-process-events.js";
import type { App } from "./app.js";

/** Opens caches on the database of a server, with a bus of their own for hints. */
export function openCaches({ services: { config, database, log } }: App) {
  const events = new InProcessEvents({ log });
  const credentials = new Credentials({ config, database, events, log });
  const clients = new RecentClients({ database, events });
  const close = async () => {
    clients.close();
    await credentials.close();
  };
  return { events, credentials, close };
}

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
