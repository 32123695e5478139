// A connection to the API: operations over graphql-transport-ws, until it is closed. `reconnecting.ts` opens another one.
import { type Client, type ClientOptions, createClient, type FormattedExecutionResult } from "graphql-ws";

/** A way to execute operations: a socket, or the executor of the server in its own process. */
export interface Connection {
  /** Executes a query or a mutation. Throws its failure, or `ConnectionLost`. */
  execute<Data>(document: string, variables: object): Promise<Data>;
  /**
   * Yields the results of a subscription. Ends when the signal is aborted, or the server completes it; throws its failure,
   * or `ConnectionLost`.
   */
  subscribe<Data>(document: string, variables: object, signal: AbortSignal): AsyncIterable<Data>;
  /** Resolves when the connection ends, on either side. */
  readonly closed: Promise<Closing>;
  close(): void;
}

/** Why a connection ended: the code of the WebSocket close frame. */
export interface Closing {
  code: number;
  reason: string;
}

/** A connection could not be opened (its cause says why), or has ended (`closing`). */
export class ConnectionLost extends Error {
  constructor(
    readonly closing?: Closing,
    options?: ErrorOptions,
  ) {
    super(
      closing ? `The connection was closed (${closing.code} ${closing.reason}).` : "The connection failed.",
      options,
    );
  }
}

export interface ConnectionOptions extends Pick<ClientOptions, "url" | "connectionParams" | "webSocketImpl"> {
  /** Milliseconds for the handshake of the protocol. */
  timeout: number;
  /** Milliseconds between pings, each of which must be responded to in the same time. By default, none are sent. */
  keepAlive?: number;
  /** Converts the errors of an operation, of which there is at least one. */
  failureOf: (errors: readonly unknown[]) => Error;
  /** Ends the connection, at any time. */
  signal?: AbortSignal;
}

/** Opens a connection. Throws `ConnectionLost`. */
export async function openConnection({
  timeout,
  keepAlive = 0,
  failureOf,
  signal,
  ...options
}: ConnectionOptions): Promise<Connection> {
  const opened = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<Closing>();
  let isOpen = false;
  let silence: ReturnType<typeof setTimeout> | undefined;
  const close = () => {
    if (isOpen) disposeOf(client);
    else client.terminate();
  };
  const client = createClient({
    ...options,
    lazy: false,
    retryAttempts: 0,
    connectionAckWaitTimeout: timeout,
    keepAlive,
    onNonLazyError: (error) => opened.reject(new ConnectionLost(undefined, { cause: error })),
    on: {
      connected: () => opened.resolve(),
      closed: (event) => {
        const closing = closingOf(event)!;
        clearTimeout(silence);
        signal?.removeEventListener("abort", close);
        closed.resolve(closing);
        opened.reject(new ConnectionLost(closing));
        // Otherwise, it would open another connection after a close with 1000.
        disposeOf(client);
      },
      ping: (isReceived) => {
        if (!isReceived) silence = setTimeout(() => client.terminate(), keepAlive);
      },
      pong: () => clearTimeout(silence),
    },
  });
  signal?.addEventListener("abort", close);
  if (signal?.aborted) close();
  await opened.promise;
  isOpen = true;
  return new SocketConnection(client, closed.promise, failureOf);
}

/** Maximum bytes of a message, which leaves room for the envelope within the server's 4 MiB. */
const messageBytes = 4 * 1024 ** 2 - 1024;

class SocketConnection implements Connection {
  #closing?: Closing;

  constructor(
    private readonly client: Client,
    readonly closed: Promise<Closing>,
    private readonly failureOf: (errors: readonly unknown[]) => Error,
  ) {
    void closed.then((closing) => (this.#closing = closing));
  }

  execute<Data>(query: string, variables: object): Promise<Data> {
    if (this.#closing) return Promise.reject(new ConnectionLost(this.#closing));
    if (Buffer.byteLength(JSON.stringify(variables)) + query.length > messageBytes) {
      const error = { message: "The message is longer than 4 MiB.", extensions: { code: "BAD_USER_INPUT" } };
      return Promise.reject(this.failureOf([error]));
    }
    return new Promise<Data>((resolve, reject) => {
      let result: FormattedExecutionResult | undefined;
      const payload = { query, variables: variables as Record<string, unknown> };
      this.client.subscribe<unknown>(payload, {
        next: (value) => (result = value as FormattedExecutionResult),
        error: (error) => reject(this.#toError(error)),
        complete: () => {
          if (result?.errors) reject(this.failureOf(result.errors));
          else if (result?.data) resolve(result.data as Data);
          else reject(new ConnectionLost(this.#closing));
        },
      });
    });
  }

  async *subscribe<Data>(query: string, variables: object, signal: AbortSignal): AsyncIterable<Data> {
    if (signal.aborted) return;
    if (this.#closing) throw new ConnectionLost(this.#closing);
    const results = this.client.iterate<unknown>({ query, variables: variables as Record<string, unknown> });
    const end = () => void results.return?.(undefined);
    signal.addEventListener("abort", end, { once: true });
    try {
      for await (const { data, errors } of results) {
        if (errors) throw this.failureOf(errors);
        yield data as Data;
      }
      if (this.#closing && !signal.aborted) throw new ConnectionLost(this.#closing);
    } catch (error) {
      const failure = this.#toError(error);
      // An error of the network is followed by the closing.
      throw failure instanceof ConnectionLost ? new ConnectionLost(await this.closed) : failure;
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  close(): void {
    disposeOf(this.client);
  }

  /** Converts what graphql-ws rejects with: errors of the operation, a close event, or an error. */
  #toError(error: unknown): Error {
    if (Array.isArray(error)) return this.failureOf(error);
    const closing = closingOf(error);
    if (closing) return new ConnectionLost(closing);
    return error instanceof Error ? error : new ConnectionLost(undefined, { cause: error });
  }
}

/** The code and the reason of a close event, or of what graphql-ws has in its place. */
function closingOf(event: unknown): Closing | undefined {
  const { code, reason } = event as Partial<Closing>;
  return typeof code === "number" ? { code, reason: reason ?? "" } : undefined;
}

/** Closes the socket of a client, if it is open; a client whose connection has failed rejects. */
const disposeOf = (client: Client): void => void Promise.resolve(client.dispose()).catch(() => {});
