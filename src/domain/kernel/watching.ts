import { setTimeout as delay } from "node:timers/promises";
import type { Context } from "./context.js";
import { DomainError, notFound } from "./errors.js";
import type { Events, Hint, Subscription } from "../../runtime/events.js";

/**
 * The condition under which something stays open. It is asked before it opens and again on each wake-up, with the
 * caller as it is then. Resolves to the object that is watched, or to `undefined` if there is nothing to watch any
 * more. Throws for a caller who may not watch it.
 */
export type Condition<Subject> = (ctx: Context) => Subject | undefined | Promise<Subject | undefined>;

/** Whether a condition that threw this error does not hold. All other errors are failures: it can be asked again. */
export const isRefusal = (error: unknown): error is DomainError =>
  error instanceof DomainError && error.code !== "UNAVAILABLE" && error.code !== "INTERNAL_SERVER_ERROR";

/** The response to a subscription: every stream of the domain is made by `watching` or `relaying`. */
export abstract class Watch<Event> implements AsyncIterableIterator<Event, undefined> {
  abstract next(): Promise<IteratorResult<Event, undefined>>;
  abstract return(): Promise<IteratorResult<Event, undefined>>;

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** The events that a watcher reads at a time. The backlog of slow clients stays in the table. */
export interface Batch<Event> {
  events: readonly Event[];
  /** Whether to read again once these events are sent, without waiting. */
  isMore?: boolean;
  /** Whether the stream ends after these events. */
  isLast?: boolean;
}

/** The declaration of a stream: the condition under which it stays open, and when to ask it again. */
export interface Conditional<Subject> {
  while: Condition<Subject>;
  /** The hints that wake the watcher, besides time and changes of the roles of the caller. */
  hints: (subject: Subject) => readonly Wake[];
}

export interface Watching<Subject, Event> extends Conditional<Subject> {
  read: (ctx: Context, subject: Subject) => Promise<Batch<Event>>;
  /** Prepares the stream once the condition holds, and returns its first events. May throw. */
  onBegin?: (subject: Subject) => readonly Event[] | Promise<readonly Event[]>;
  /** Receives events that were read and will not be sent, because the stream has ended. */
  onUnsent?: (events: readonly Event[]) => void;
  /** Called once at the end of a stream that has begun. Returns the last events for a client that is still there. */
  onEnd?: () => readonly Event[];
  /** Receives failures, after which the next wake-up reads again. By default, a failure ends the stream. */
  onFailure?: (error: unknown) => void;
  period?: Period;
  /** Milliseconds for which changes are collected, except before the first read. */
  batchDelay?: number;
}

/**
 * Streams what `read` returns: immediately, and again after each wake-up. Before each read the condition is asked;
 * before that, the caller is read again after a hint that its roles changed, and in each period. Once the condition
 * does not hold, the stream ends with its error, or completes if there is nothing to watch any more. A rejected stream
 * throws before this resolves; it is NOT_FOUND if there is nothing to watch.
 */
export async function watching<Subject, Event>(ctx: Context, options: Watching<Subject, Event>): Promise<Watch<Event>> {
  const subject = await ask(options.while, ctx);
  const first = (await options.onBegin?.(subject)) ?? [];
  return new Reading(ctx, options.hints(subject), options, first);
}

/**
 * Turns a function that reads a state into a `read` that returns the state only if its fingerprint, `printOf`, differs
 * from that of the last call.
 */
export function onChange<Subject, State>(
  read: (ctx: Context, subject: Subject) => Promise<State | undefined>,
  printOf: (state: State, subject: Subject) => string | boolean,
): (ctx: Context, subject: Subject) => Promise<Batch<State>> {
  let last: string | boolean | undefined;
  return async (ctx, subject) => {
    const state = await read(ctx, subject);
    if (state === undefined) return { events: [] };
    const print = printOf(state, subject);
    const events = print === last ? [] : [state];
    last = print;
    return { events };
  };
}

/**
 * Streams the events of a source outside, and ends with it. The condition is asked on each wake-up, as by `watching`. A
 * rejected stream throws before this resolves.
 */
export async function relaying<Subject, Event>(
  ctx: Context,
  options: Conditional<Subject> & {
    /** Opens the source. The signal is aborted at the end of the stream. */
    open: (subject: Subject, signal: AbortSignal) => Promise<AsyncIterator<Event, void>>;
  },
): Promise<Watch<Event>> {
  const subject = await ask(options.while, ctx);
  const life = new AbortController();
  const source = await options.open(subject, AbortSignal.any([ctx.signal, life.signal]));
  return new Relay(ctx, options.hints(subject), options.while, source, life);
}

/**
 * Asks a condition on each wake-up while something is open, such as a socket. Calls `onEnd` once when it no longer
 * holds, with the error if it threw one. Failures are logged, and it is asked again. Returns the function that stops
 * asking.
 */
export function whileHolds(
  waiting: Waiting & Pick<Context, "log">,
  wakes: readonly Wake[],
  condition: () => unknown,
  onEnd: (error?: DomainError) => void,
): () => void {
  const due = new Wakeups(waiting, wakes);
  void (async () => {
    while (await due.next()) {
      try {
        if ((await condition()) !== undefined || due.isOver) continue;
        due.end();
        onEnd();
      } catch (error) {
        if (due.isOver) return;
        if (isRefusal(error)) {
          due.end();
          onEnd(error);
        } else
          waiting.log.warn({ err: error }, "The rights of an open connection could not be checked. It is tried again.");
      }
    }
  })();
  return () => due.end();
}

async function ask<Subject>(condition: Condition<Subject>, ctx: Context): Promise<Subject> {
  const subject = await condition(ctx);
  if (subject === undefined) throw notFound();
  return subject;
}

/** Hints that the rights of the caller changed. */
const rightsOf = ({ actor, services }: Context): readonly Hint[] => services.callers.hintsOf(actor);

const over: IteratorResult<never, undefined> = { done: true, value: undefined };

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class Reading<Subject, Event> extends Watch<Event> {
  readonly #due: Wakeups;
  /** Events not yet consumed, at most one batch. */
  #ready: Event[];
  #isFirst = true;
  #isMore = false;
  #isLast = false;

  constructor(
    private readonly ctx: Context,
    wakes: readonly Wake[],
    private readonly options: Watching<Subject, Event>,
    first: readonly Event[],
  ) {
    super();
    this.#ready = [...first];
    this.#due = new Wakeups(ctx, wakes, {
      rights: rightsOf(ctx),
      period: options.period,
      onEnd: () => this.finish(),
    });
  }

  async next(): Promise<IteratorResult<Event, undefined>> {
    try {
      for (;;) {
        const event = this.#ready.shift();
        if (event !== undefined) return { done: false, value: event };
        if (this.#isLast) this.#due.end();
        if (this.#due.isOver && this.#ready.length === 0) return over;
        if (this.#isMore || (await this.#due.next())) await this.#look();
      }
    } catch (error) {
      this.#due.end();
      this.#ready = [];
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.#due.end();
    this.#ready = [];
    return over;
  }

  async #look(): Promise<void> {
    const { batchDelay, read, onUnsent, onFailure } = this.options;
    if (batchDelay !== undefined && !this.#isFirst) await delay(batchDelay, undefined, { ref: false });
    this.#isFirst = false;
    this.#isMore = false;
    try {
      if (this.#due.isOver) return;
      const fresh = await this.#fresh();
      const subject = await this.options.while(fresh);
      if (subject === undefined) this.#due.end();
      if (subject === undefined || this.#due.isOver) return;
      const { events, isMore = false, isLast = false } = await read(fresh, subject);
      if (this.#due.isOver) {
        onUnsent?.(events);
        return;
      }
      this.#ready = [...events];
      this.#isMore = isMore;
      this.#isLast = isLast;
    } catch (error) {
      if (this.#due.isOver) return;
      if (isRefusal(error) || !onFailure) throw error;
      onFailure(error);
    }
  }

  /** Reads the caller again if its rights may have changed. */
  async #fresh(): Promise<Context> {
    if (!this.#due.isStale) return this.ctx.afresh();
    this.#due.isStale = false;
    try {
      return await this.ctx.renewCaller();
    } catch (error) {
      this.#due.isStale = true;
      throw error;
    }
  }

  finish(): void {
    const { onUnsent, onEnd } = this.options;
    const unsent = this.#ready;
    this.#ready = [...(onEnd?.() ?? [])];
    if (unsent.length > 0) onUnsent?.(unsent);
  }
}

/** Not a generator, for the same reason. */
class Relay<Subject, Event> extends Watch<Event> {
  #refusal: DomainError | undefined;
  readonly #stopAsking: () => void;

  constructor(
    ctx: Context,
    wakes: readonly Wake[],
    condition: Condition<Subject>,
    private readonly source: AsyncIterator<Event, void>,
    private readonly life: AbortController,
  ) {
    super();
    const isAllowed = async () => condition(await ctx.renewCaller());
    this.#stopAsking = whileHolds(ctx, [...rightsOf(ctx), ...wakes], isAllowed, (error) => {
      this.#refusal = error;
      life.abort();
    });
  }

  /** The end of the source, whatever its reason, is the end of the stream and no error. */
  async next(): Promise<IteratorResult<Event, undefined>> {
    const event = await this.source.next().catch(() => over);
    if (!event.done && !this.life.signal.aborted) return { done: false, value: event.value };
    void this.return();
    if (this.#refusal) throw this.#refusal;
    return over;
  }

  async return(): Promise<IteratorResult<Event, undefined>> {
    this.#stopAsking();
    this.life.abort();
    return over;
  }
}

/** The part of a `Context` that is needed to wait for hints. */
export interface Waiting {
  /** Ends the waiting when it is aborted. */
  signal?: AbortSignal;
  services: { events: Events };
}

/** A hint that wakes a watcher, or hints that change while it waits. */
export type Wake = Hint | ChangingHints;

/**
 * Hints that wake a watcher, and that it replaces as it learns what it waits for. Each is a subscription of its own: other
 * hints of their topics cost nothing.
 */
export class ChangingHints {
  readonly #subscriptions = new Map<string, Subscription>();
  #wanted: readonly Hint[] = [];
  #subscribe: ((hint: Hint) => Subscription) | undefined;

  /** `onHint` is called with each hint, before the watcher wakes. */
  constructor(private readonly onHint: (hint: Hint) => void) {}

  /** Replaces the hints, now and if it is not open yet, as soon as it is. */
  replace(hints: readonly Hint[]): void {
    this.#wanted = hints;
    if (!this.#subscribe) return;
    const wanted = new Map(hints.map((hint) => [`${hint.topic} ${hint.id}`, hint]));
    for (const [key, subscription] of this.#subscriptions) {
      if (wanted.has(key)) continue;
      subscription.close();
      this.#subscriptions.delete(key);
    }
    for (const [key, hint] of wanted)
      if (!this.#subscriptions.has(key)) this.#subscriptions.set(key, this.#subscribe(hint));
  }

  /** Calls `wake` after each of the hints, and when some may have been lost. */
  open(events: Events, wake: () => void): Subscription {
    this.#subscribe = (hint) => {
      const { topic, id } = hint;
      const woken = () => {
        this.onHint(hint);
        wake();
      };
      return events.subscribe(topic, id, woken, wake);
    };
    this.replace(this.#wanted);
    return {
      close: () => {
        this.#subscribe = undefined;
        for (const subscription of this.#subscriptions.values()) subscription.close();
        this.#subscriptions.clear();
      },
    };
  }
}

/** Seconds after which a watcher wakes without a hint. 5 is for work that must not wait for a lost hint. */
export type Period = 5 | 30;

export interface WakeupOptions {
  /** Hints that the rights of the caller changed. */
  rights?: readonly Hint[];
  period?: Period;
  onEnd?: () => void;
}

/**
 * Makes a watcher read: immediately, after each hint or gap, and once in each period in case a hint was lost. Coalesces
 * hints that arrive between calls of `next`. Ends when the signal is aborted.
 */
export class Wakeups {
  readonly #signal: AbortSignal | undefined;
  readonly #subscriptions: Subscription[];
  readonly #leaveRounds: () => void;
  readonly #onEnd: () => void;
  #isDue = true;
  #waiting: PromiseWithResolvers<boolean> | undefined;
  isOver = false;
  /** Whether the rights of the caller may have changed: at first, after one of `rights`, and once in each period. */
  isStale = true;

  constructor(
    { signal, services: { events } }: Waiting,
    wakes: readonly Wake[],
    { rights = [], period = 30, onEnd = () => {} }: WakeupOptions = {},
  ) {
    const wake = () => this.#wake();
    const recheck = () => {
      this.isStale = true;
      this.#wake();
    };
    this.#signal = signal;
    this.#onEnd = onEnd;
    this.#subscriptions = [
      ...rights.map(({ topic, id }) => events.subscribe(topic, id, recheck)),
      ...wakes.map((each) =>
        each instanceof ChangingHints ? each.open(events, wake) : events.subscribe(each.topic, each.id, wake),
      ),
    ];
    this.#leaveRounds = rounds[period].join(recheck);
    signal?.addEventListener("abort", this);
    if (signal?.aborted) this.end();
  }

  /** Resolves to true when the watcher must read, and to false at the end. */
  next(): Promise<boolean> {
    if (!this.isOver && !this.#isDue) return (this.#waiting ??= Promise.withResolvers()).promise;
    this.#isDue = false;
    return Promise.resolve(!this.isOver);
  }

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.end();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const subscription of this.#subscriptions) subscription.close();
    this.#leaveRounds();
    this.#signal?.removeEventListener("abort", this);
    this.#onEnd();
    this.#settle(false);
  }

  #wake(): void {
    if (this.#waiting) this.#settle(true);
    else this.#isDue = true;
  }

  #settle(isDue: boolean): void {
    this.#waiting?.resolve(isDue);
    this.#waiting = undefined;
  }
}

/** Wakes each watcher once in some seconds by a common timer, an equal part of the watchers each second. */
class Rounds {
  readonly #groups: ReadonlyArray<Set<() => void>>;
  #current = 0;
  #members = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(seconds: number) {
    this.#groups = Array.from({ length: seconds }, () => new Set<() => void>());
  }

  /** Calls `wake` once in each period. Returns the function that stops it. */
  join(wake: () => void): () => void {
    // In turn, so that watchers that reconnect together after a restart are spread over the groups.
    const group = this.#groups[this.#members++ % this.#groups.length]!.add(wake);
    this.#timer ??= setInterval(() => this.tick(), 1_000).unref();
    return () => {
      if (!group.delete(wake) || --this.#members > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Wakes the next part of the watchers. */
  tick(): void {
    this.#current = (this.#current + 1) % this.#groups.length;
    for (const wake of this.#groups[this.#current]!) wake();
  }
}

/** The watchers of this process, by their periods. */
export const rounds: Readonly<Record<Period, Rounds>> = { 5: new Rounds(5), 30: new Rounds(30) };
