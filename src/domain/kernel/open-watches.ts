import type { Services } from "./context.js";
import { DomainError } from "./errors.js";

/** Counts the open watches of each user, by server: tests run several in a process. */
export class OpenWatches {
  readonly #servers = new WeakMap<Services, Map<string, number>>();

  /** @param what What a user watches, as the subject of the sentence that rejects one too many. */
  constructor(
    private readonly most: number,
    private readonly what: string,
  ) {}

  /** Counts a watch of a user. Throws RATE_LIMITED at the limit. */
  begin(services: Services, userId: string): void {
    const taken = this.#servers.get(services) ?? new Map<string, number>();
    this.#servers.set(services, taken);
    const count = taken.get(userId) ?? 0;
    if (count >= this.most) {
      const detail = `${this.what} can have at most ${this.most} open watches.`;
      throw new DomainError("RATE_LIMITED", "Too many requests.", { detail, retryAfter: 1 });
    }
    taken.set(userId, count + 1);
  }

  end(services: Services, userId: string): void {
    const taken = this.#servers.get(services)!;
    const count = taken.get(userId)! - 1;
    if (count > 0) taken.set(userId, count);
    else taken.delete(userId);
  }
}
