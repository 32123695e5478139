import type { PoolClient } from "pg";

/**
 * Runs `work` on a connection. When the signal is aborted, the connection is closed, whatever statement it runs, its
 * transaction is rolled back, and the signal's reason is thrown.
 */
export async function interruptible<Result>(
  client: PoolClient,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  const close = () => closeNow(client);
  signal.addEventListener("abort", close);
  try {
    signal.throwIfAborted();
    return await work();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** Closes a connection in the middle of a statement. Its end would wait for the statement. */
export function closeNow(client: PoolClient): void {
  client.on("error", () => {});
  client.connection.stream.destroy();
}
