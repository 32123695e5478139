const waiting: Array<() => void> = [];

/**
 * Resolves in a later turn of the event loop, each promise in a turn of its own. Long computations await it every few
 * milliseconds to let requests, timers and each other proceed.
 */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next);
  });

function next(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(next);
}
