import type { Logger } from "pino";
import type { LockState } from "./lock-watch.js";

/** Milliseconds until the first report of what takes long, and between reports. */
const firstReport = 1_000;
const nextReport = 10_000;

/** Logs what a migration does and waits for, if it takes long. */
export class Reporter {
  #work = "";
  #due = Infinity;
  #heldBy: string[] = [];
  #wasCanceled = false;

  constructor(private readonly log: Pick<Logger, "info">) {}

  /** To be called when something begins, again if it is repeated. */
  begin(work: string): void {
    if (work === this.#work) return;
    this.#work = work;
    this.#due = performance.now() + firstReport;
  }

  readonly onWait = ({ heldBy, isCanceled }: LockState): void => {
    if (heldBy.length > 0) this.#heldBy = heldBy;
    this.#wasCanceled = isCanceled;
    if (!isCanceled) this.#report({ waitsFor: heldBy });
  };

  /** To be called after an attempt that gave way to others. */
  gaveWay(): void {
    if (this.#wasCanceled)
      this.#report({
        reason: "The requests of other servers would wait too long. Stop those servers if it never succeeds.",
      });
    else this.#report({ waitsFor: this.#heldBy });
  }

  count(rows: number): void {
    this.#report({ rows });
  }

  #report(detail: object): void {
    const now = performance.now();
    if (now < this.#due) return;
    this.#due = now + nextReport;
    this.log.info(detail, `${this.#work}.`);
  }
}
