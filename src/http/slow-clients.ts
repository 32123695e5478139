import type { Socket } from "node:net";
import type { UnreadLimits } from "../runtime/config.js";

/** The bytes that wait for one client. */
interface Wait {
  /** The number of bytes at the last count. */
  bytes: number;
  /** Bytes written to the connection when the wait began. Once they have left, the wait starts again. */
  given: number;
  /** The start of the wait, in milliseconds of the process's monotonic clock. */
  since: number;
  /** When the bytes must have left, by the same clock. */
  deadline: number;
  /** Ends the connection as its protocol requires. Called once; if bytes still wait after that, the socket is destroyed. */
  onStalled?: () => void;
}

/**
 * Tracks the bytes that wait in this process because clients do not read them, on every transport. Bounds their sum and
 * the time that they may wait. Bytes in the buffers of the operating system are not counted.
 */
export class Unread {
  readonly #waits = new Map<Socket, Wait>();
  #sum = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: UnreadLimits) {}

  /** The number of bytes that wait for all clients. */
  get bytes(): number {
    this.#recount();
    return this.#sum;
  }

  /** Whether too many bytes wait on a connection to write more. */
  isFull = (socket: Socket): boolean => socket.writableLength > this.limits.perConnection;

  /** Counts the bytes that wait after a write. A stalled connection is destroyed, unless `onStalled` ends it. */
  wrote(socket: Socket, onStalled?: () => void): void {
    if (socket.writableLength === 0) return;
    let wait = this.#waits.get(socket);
    if (!wait)
      this.#waits.set(socket, (wait = this.#begin({ bytes: 0, given: 0, since: 0, deadline: 0, onStalled }, socket)));
    this.#count(socket, wait);
    if (this.#sum > this.limits.inTotal) this.#makeRoom();
    if (!this.#timer) this.#timer = setTimeout(() => this.#look(), this.limits.timeout / 10).unref();
  }

  #begin(wait: Wait, socket: Socket): Wait {
    const { timeout, bytesPerSecond } = this.limits;
    wait.given = socket.bytesWritten;
    wait.since = performance.now();
    wait.deadline = wait.since + timeout + (socket.writableLength / bytesPerSecond) * 1000;
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

  /** Destroys the connections with the most bytes for the longest time: clients that read have bytes waiting briefly. */
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
      else if (now >= wait.deadline) this.closeStalled(socket, wait);
    }
    this.#timer = this.#waits.size > 0 ? setTimeout(() => this.#look(), this.limits.timeout / 10).unref() : undefined;
  }

  closeStalled(socket: Socket, wait: Wait): void {
    const { onStalled } = wait;
    if (!onStalled) return void socket.destroy();
    wait.onStalled = undefined;
    this.#begin(wait, socket);
    onStalled();
  }
}
