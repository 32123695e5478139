import type { Logger } from "pino";
import { NatsChannel } from "./nats-channel.js";
import { natsServers } from "./nats-url.js";
import { ReplicatedEvents } from "./replicated-events.js";

/** Delivers hints to all replicas by a subject of NATS, over one connection per replica. */
export class NatsEvents extends ReplicatedEvents {
  constructor({ url, log }: { url: string; log: Logger }) {
    const servers = natsServers(url);
    if (!servers) throw new Error("The URL of NATS is invalid.");
    super(() => new NatsChannel(servers, "steward.hints"), log);
  }
}
