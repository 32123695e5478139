import { type Actor, userIdOf } from "../kernel/actor.js";
import { DomainError } from "../kernel/errors.js";

/** Seconds after which a client may try to open another one. */
const retryAfter = 10;

/** Counts the sockets and streams that users have open on this replica. */
export class OpenSockets {
  readonly #open = new Map<string, number>();

  /** `most` is the maximum for each user; 0 means no limit. `onRejection` is called for each one that is too many. */
  constructor(
    private readonly most: number,
    private readonly onRejection: () => void,
  ) {}

  /**
   * Counts one more socket or stream of a user until the returned function is called. Machines have as many as they need.
   * Throws RATE_LIMITED if the user has the maximum.
   */
  hold(actor: Actor): () => void {
    const id = userIdOf(actor);
    if (id === undefined || this.most === 0) return () => {};
    const open = this.#open.get(id) ?? 0;
    if (open >= this.most) {
      this.onRejection();
      const detail = `A user can have at most ${this.most} open sockets and streams on a server.`;
      throw new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter });
    }
    this.#open.set(id, open + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = this.#open.get(id)! - 1;
      if (left > 0) this.#open.set(id, left);
      else this.#open.delete(id);
    };
  }
}
