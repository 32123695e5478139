// Whether the server responds. While it does not, it is probed with growing pauses; then the page loads again.
import { signal } from "./signal";

export const serverIsAway = signal(false);

/** Records that a request found no server. */
export function noticeAbsence(): void {
  if (serverIsAway.value) return;
  serverIsAway.set(true);
  void probe(1_000);
}

async function probe(pause: number): Promise<void> {
  await new Promise((done) => setTimeout(done, pause));
  const isBack = await fetch("/healthz").then(
    ({ ok }) => ok,
    () => false,
  );
  if (!isBack) return probe(Math.min(pause * 1.5, 10_000));
  serverIsAway.set(false);
}
