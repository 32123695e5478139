import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { reconnecting } from "../../../api/reconnecting";
import { changes, client, socket } from "./client";
import type { Operation } from "./operation";
import { serverIsAway } from "./reachability";

/** The result of a query. While new variables load, it is the result of the variables before. */
export interface Loaded<Data> {
  data?: Data;
  error?: Error;
  isLoading: boolean;
  /** Loads again. */
  refresh: () => void;
}

/**
 * Runs a query: again when its variables change, after each change made here, and when the server is back. Nothing is
 * loaded without variables.
 */
export function useData<Data, Variables extends object>(
  { text }: Operation<Data, Variables>,
  variables: Variables | undefined,
): Loaded<Data> {
  const [state, setState] = useState<Omit<Loaded<Data>, "refresh">>({ isLoading: true });
  const key = variables && JSON.stringify(variables);
  const load = useCallback(() => {
    if (key === undefined) return () => {};
    setState((before) => ({ ...before, isLoading: true }));
    const { unsubscribe } = client
      .query<Data>(text, JSON.parse(key) as object, { requestPolicy: "cache-and-network" })
      .subscribe(({ data, error, stale }) => {
        // A query of several objects may return some of them, and errors of the others.
        setState((before) => ({ data: data ?? (error ? before.data : undefined), error, isLoading: stale }));
      });
    return unsubscribe;
  }, [text, key]);
  const stop = useRef(() => {});
  const refresh = useCallback(() => {
    stop.current();
    stop.current = load();
  }, [load]);
  useEffect(() => {
    refresh();
    const returned = serverIsAway.follow(() => !serverIsAway.value && refresh());
    const changed = changes.follow(refresh);
    return () => {
      returned();
      changed();
      stop.current();
    };
  }, [refresh]);
  return { ...state, refresh };
}

/**
 * Loads again every `interval` milliseconds while there is something to wait for and the page is visible, but not while
 * a load runs, which a slow server would never end. It loads once more after the waiting ends, after the page opens, and
 * after each change made here: a result is not read at one moment, and may hold the end of a job beside what was true
 * before it.
 */
export function usePolling({ refresh, isLoading }: Loaded<unknown>, interval: number, isWaiting = true): void {
  const isOneLeft = useRef(true);
  const look = useLatest(() => {
    if (isLoading || document.visibilityState !== "visible" || !(isWaiting || isOneLeft.current)) return;
    isOneLeft.current = isWaiting;
    refresh();
  });
  useEffect(() => changes.follow(() => (isOneLeft.current = true)), []);
  useEffect(() => {
    const timer = setInterval(look, interval);
    return () => clearInterval(timer);
  }, [interval, look]);
}

/** The latest version of a function, which never changes its identity. */
export function useLatest<Parameters extends unknown[], Result>(
  run: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  const latest = useRef(run);
  latest.current = run;
  return useCallback((...parameters: Parameters) => latest.current(...parameters), []);
}

interface Live<Data, Variables> {
  /** The variables of the next subscription, such as where to resume; nothing is watched without them. */
  variables: () => Variables | undefined;
  /** Called with each event. */
  onEvent: (data: Data) => void;
  /** Whether it ends when there is nothing more to come, such as the log of a job. */
  ends?: true;
  onEnd?: () => void;
  /** Called when the subscription begins again: events may have been missed, unless it resumes. */
  onRestart?: () => void;
}

/** Milliseconds before a subscription that ended begins again. */
const pauses = { first: 1_000, most: 15_000 };

/** Subscribes, again after each disconnect, until the component is gone or `key` changes. */
export function useLive<Data, Variables extends object>(
  { text }: Operation<Data, Variables>,
  key: string,
  live: Live<Data, Variables>,
): void {
  const variablesNow = useLatest(live.variables);
  const onEvent = useLatest(live.onEvent);
  const onRestart = useLatest(() => live.onRestart?.());
  const onEnd = useLatest(() => live.onEnd?.());
  const { ends } = live;
  useEffect(() => {
    const life = new AbortController();
    let isRestart = false;
    const read = async function* () {
      const variables = variablesNow();
      if (!variables) return;
      if (isRestart) onRestart();
      isRestart = true;
      const results = socket.iterate<Data>({ query: text, variables: variables as Record<string, unknown> });
      life.signal.addEventListener("abort", () => void results.return?.(undefined), { once: true });
      for await (const { data } of results) if (data) yield data;
      if (life.signal.aborted) return;
      if (!ends) throw new Error("The server ended the subscription.");
      onEnd();
    };
    const follow = async () => {
      const connect = () => Promise.resolve({ close: () => {} });
      const events = reconnecting({ connect, read, onLost: () => {}, pauses, signal: life.signal });
      for await (const event of events) if (!life.signal.aborted) onEvent(event);
    };
    void follow();
    return () => life.abort();
  }, [text, key, ends, variablesNow, onEvent, onRestart, onEnd]);
}
