import type { IncomingMessage } from "node:http";
import type { Actor } from "../../domain/kernel/actor.js";
import { Context, type Services } from "../../domain/kernel/context.js";
import type { RequestDetails } from "../../domain/kernel/request.js";
import type { ContextOf } from "../../http/exchange.js";
import { withoutEdges } from "../../runtime/pasted.js";
import { graphqlPath } from "./server.js";

/** How the client of a socket authenticates. */
export interface Identity {
  /** Authenticates a client by its first message. Returns the caller; `undefined` if there is no credential. */
  introduce(token: unknown): Promise<Actor | undefined>;
  /** Creates the context of one operation, and counts it where operations are limited. */
  admit(life: AbortController): Promise<Context>;
}

/** A client with the credential of a user or machine, in its first message or with the upgrade. */
export class SessionIdentity implements Identity {
  /** The token of the first message, if it had one. */
  #token: string | undefined;

  constructor(
    private readonly services: Services,
    private readonly contextOf: ContextOf,
    private readonly request: IncomingMessage,
    private readonly details: RequestDetails,
  ) {}

  async introduce(token: unknown): Promise<Actor | undefined> {
    if (typeof token === "string") this.#token = withoutEdges(token);
    const { actor } = await this.#authenticate(new AbortController());
    return actor.kind === "anonymous" ? undefined : actor;
  }

  async admit(life: AbortController): Promise<Context> {
    const ctx = await this.#authenticate(life);
    this.services.limits.countCaller(ctx);
    return ctx;
  }

  /** Each operation has its own request details: rate limits are counted for each. */
  async #authenticate(life: AbortController): Promise<Context> {
    const { services, contextOf } = this;
    const details = { ...this.details };
    const lifetime = () => life;
    if (this.#token === undefined) return contextOf(this.request, { details, lifetime });
    const resource = services.config.accessUrl + graphqlPath;
    return new Context(services, await services.credentials.authenticate(this.#token, resource), details, lifetime);
  }
}
