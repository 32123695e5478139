import type { Logger } from "pino";
import { PostgresChannel } from "./postgres-channel.js";
import { ReplicatedEvents } from "./replicated-events.js";

/**
 * Delivers hints to all replicas of a database by LISTEN and NOTIFY, over one connection per replica. It needs a session of
 * its own: a pooler in transaction mode is rejected.
 */
export class PostgresEvents extends ReplicatedEvents {
  constructor({ connectionString, log }: { connectionString: string; log: Logger }) {
    super(() => new PostgresChannel(connectionString, "steward_hints"), log);
  }
}
