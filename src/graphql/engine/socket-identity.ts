import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type Actor, userIdOf } from "../../domain/kernel/actor.js";
import { Context, type Services } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import type { RequestDetails } from "../../domain/kernel/request.js";
import { hasSentCredential } from "../../http/credentials.js";
import type { ContextOf } from "../../http/exchange.js";
import { withoutEdges } from "../../runtime/pasted.js";
import { translate } from "./errors.js";
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
  /** Why the credential of the upgrade was rejected. */
  #rejection: unknown;
  /** The user whose socket it counts as, and the end of that. */
  #user: string | undefined;
  #release = (): void => {};

  constructor(
    private readonly services: Services,
    private readonly contextOf: ContextOf,
    private readonly request: IncomingMessage,
    private readonly details: RequestDetails,
    private readonly socket: Duplex,
  ) {
    socket.once("close", () => this.#release());
  }

  /**
   * Counts the socket for the user whose credential came with the upgrade, if one did. Throws RATE_LIMITED. Whether the
   * client may connect is decided by its first message.
   */
  async announce(): Promise<void> {
    if (!hasSentCredential(this.request, this.services.config.accessUrl)) return;
    let ctx;
    try {
      ctx = await this.#authenticate(new AbortController());
    } catch (error) {
      if (translate(error).code === "UNAUTHENTICATED") this.#rejection = error;
      return;
    }
    this.#count(ctx.actor);
  }

  async introduce(token: unknown): Promise<Actor | undefined> {
    if (typeof token === "string") this.#token = withoutEdges(token);
    else if (this.#rejection) throw this.#rejection;
    const { actor } = await this.#authenticate(new AbortController());
    try {
      this.#count(actor);
    } catch (error) {
      const { code, details } = translate(error);
      throw code === "RATE_LIMITED" ? new DomainError(code, "Too many connections", details) : error;
    }
    return actor.kind === "anonymous" ? undefined : actor;
  }

  /** Counts the socket for a user until it closes. Throws RATE_LIMITED. */
  #count(actor: Actor): void {
    const user = userIdOf(actor);
    if (user === this.#user) return;
    this.#release();
    this.#user = undefined;
    this.#release = this.services.limits.sockets.hold(actor);
    this.#user = user;
    if (this.socket.destroyed) this.#release();
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
