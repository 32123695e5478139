import type { Logger } from "pino";
import { NatsChannel } from "./nats-channel.js";
import { natsServers } from "./nats-url.js";
import { ReplicatedEvents } from "./replicated-events.js";

/** Delivers hints to all replicas of a deployment by a subject of NATS of its own, over one connection per replica. */
export class NatsEvents extends ReplicatedEvents {
  constructor({ url, log }: { url: string; log: Logger }) {
    const servers = natsServers(url);
    if (!servers) throw new Error("The URL of NATS is invalid.");
    super((deployment) => new NatsChannel(servers, subjectOf(deployment)), log);
  }
}

/** Deployments may share a NATS: each has a subject of its own. */
export const subjectOf = (deployment: string): string => `steward.hints.${deployment}`;
