// The caches of credentials of a replica, without its server.
// Looks inside: hints arrive without the requests of other replicas.
import { RecentClients } from "../../src/domain/oauth2/recent-clients.js";
import { Credentials } from "../../src/domain/tokens/credentials.js";
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
