// Whether the server responds. While it does not, it is probed with growing pauses; then the page loads again.
import { useSyncExternalStore } from "react";

let isAway = false;
const listeners = new Set<() => void>();
const returned = new Set<() => void>();

/** Calls `listener` whenever the server is back. */
export function onServerReturned(listener: () => void): () => void {
  returned.add(listener);
  return () => void returned.delete(listener);
}

/** Records that a request found no server. */
export function serverIsAway(): void {
  if (isAway) return;
  set(true);
  void probe(1_000);
}

async function probe(pause: number): Promise<void> {
  await new Promise((done) => setTimeout(done, pause));
  const isBack = await fetch("/healthz").then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isBack) return probe(Math.min(pause * 1.5, 10_000));
  set(false);
  returned.forEach((listener) => listener());
}

function set(value: boolean): void {
  isAway = value;
  listeners.forEach((listener) => listener());
}

export const useServerIsAway = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isAway,
  );
