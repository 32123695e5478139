import type { Socket } from "node:net";
import type { UnreadLimits } from "../config/config.js";

/** What waits for one client. */
interface Wait {
  /** Bytes, when last looked at. */
  bytes: number;
  /** All bytes that the connection had been given when the time began: once they are taken, it begins anew. */
  given: number;
  /** When it began, in milliseconds of the process's monotonic clock. */
  since: number;
  /** When they must be taken, by the same clock. */
  deadline: number;
  /** Ends the connection in the way of its protocol. Called once; if something still waits in time, it is cut. */
  onStalled?: () => void;
}

/**
 * The bytes that clients have not taken yet and that therefore wait in this process, on whatever transport. Bounds their
 * sum and the time in which they must be taken. Bytes that the operating system has taken over are not seen.
 */
export class Unread {
  readonly #waits = new Map<Socket, Wait>();
  #sum = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: UnreadLimits) {}

  /** Bytes that wait for all clients together. */
  get bytes(): number {
    this.#recount();
    return this.#sum;
  }

  /** Whether so much waits on a connection that it must not be given more. */
  isFull = (socket: Socket): boolean => socket.writableLength > this.limits.perConnection;

  /** Counts what a write has left waiting. A stalled connection is cut, unless `onStalled` ends it. */
  wrote(socket: Socket, onStalled?: () => void): void {
    if (socket.writableLength === 0) return;
    let wait = this.#waits.get(socket);
    if (!wait)
      this.#waits.set(socket, (wait = this.#begin({ bytes: 0, given: 0, since: 0, deadline: 0, onStalled }, socket)));
    this.#count(socket, wait);
    if (this.#sum > this.limits.inTotal) this.#makeRoom();
    if (!this.#timer) this.#timer = setTimeout(() => this.#look(), this.limits.patience / 10).unref();
  }

  #begin(wait: Wait, socket: Socket): Wait {
    const { patience, bytesPerSecond } = this.limits;
    wait.given = socket.bytesWritten;
    wait.since = performance.now();
    wait.deadline = wait.since + patience + (socket.writableLength / bytesPerSecond) * 1000;
    return wait;
  }

  #count(socket: Socket, wait: Wait): number {
    const bytes = socket.destroyed ? 0 : socket.writableLength;
    this.#sum += bytes - wait.bytes;
    return (wait.bytes = bytes);
  }

  #recount(): void {
    for (const [socket, wait] of this.#waits) if (this.#count(socket, wait) === 0) this.#waits.delete(socket);
  }

  /** Cuts those who take up most space for the longest time: clients that read have theirs for a moment. */
  #makeRoom(): void {
    this.#recount();
    const now = performance.now();
    const use = ({ bytes, since }: Wait) => bytes * (now - since);
    for (const [socket, wait] of [...this.#waits].sort(([, one], [, other]) => use(other) - use(one))) {
      if (this.#sum <= this.limits.inTotal) return;
      socket.destroy();
      this.#count(socket, wait);
    }
  }

  #look(): void {
    this.#recount();
    const now = performance.now();
    for (const [socket, wait] of this.#waits) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (taken >= wait.given) this.#begin(wait, socket);
      else if (now >= wait.deadline) this.#stalled(socket, wait);
    }
    this.#timer = this.#waits.size > 0 ? setTimeout(() => this.#look(), this.limits.patience / 10).unref() : undefined;
  }

  #stalled(socket: Socket, wait: Wait): void {
    const { onStalled } = wait;
    if (!onStalled) return void socket.destroy();
    wait.onStalled = undefined;
    this.#begin(wait, socket);
    onStalled();
  }
}
