// A client of the public API: operations over HTTP, subscriptions over graphql-transport-ws. Nothing here uses a database
// or the program of the server.
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "graphql-ws";
import { ApiFailure, failureOf, Interrupted, membersOf, reasonOf, Unreachable } from "./failures.js";
import type { Operation } from "./operation.js";
import type { Session } from "./session.js";

/** Milliseconds that a request may take, and that a connection may be silent. */
const timeout = 60_000;
/** Milliseconds before a lost connection is opened again: at first, and at most. */
const pauses = { first: 500, most: 30_000 };
/** Close codes after which a new connection would be closed again. */
const mistakes = new Set([4400, 4401, 4406, 4409, 4429]);
/** Failures that pass. */
const temporary = new Set<string | undefined>(["UNAVAILABLE", "RATE_LIMITED"]);

interface Response {
  status: number;
  data: object | undefined;
  errors: readonly unknown[];
  message: string | undefined;
}

export class Api {
  constructor(
    private readonly session: Session,
    private readonly signal: AbortSignal,
    /** Shows what happens to a connection. */
    private readonly note: (text: string) => void,
  ) {}

  get url(): string {
    return this.session.url;
  }

  /** Runs a query or a mutation. Throws an `ApiFailure`, `Unreachable`, or `NotSignedIn`. */
  async run<Data, Variables extends object>(
    { text }: Operation<Data, Variables>,
    variables: NoInfer<Variables>,
  ): Promise<Data> {
    const body = JSON.stringify({ query: text, variables });
    const token = await this.session.token();
    const first = await this.#send(body, token);
    const response = first.status === 401 ? await this.#send(body, await this.session.renewed(token)) : first;
    const { data, errors, status, message } = response;
    if (errors.length > 0) throw failureOf(errors);
    if (data) return data as Data;
    throw new ApiFailure(`${this.url} responded with status ${status}: ${message ?? "it is not Steward."}`, {
      code: status === 401 ? "UNAUTHENTICATED" : undefined,
    });
  }

  async #send(body: string, token: string): Promise<Response> {
    try {
      const response = await fetch(`${this.url}/graphql`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
        body,
        // The token is for this server only.
        redirect: "error",
        signal: AbortSignal.any([this.signal, AbortSignal.timeout(timeout)]),
      });
      return responseOf(response.status, await response.text());
    } catch (error) {
      if (this.signal.aborted) throw new Interrupted("Interrupted.");
      throw new Unreachable(this.url, error);
    }
  }

  /**
   * Yields the events of a subscription until the server completes it, or the user interrupts. Connects again, with
   * growing pauses, when the connection is lost; `variables` then says where to resume. Throws the failures that stay.
   */
  async *live<Data, Variables extends object>(
    { text }: Operation<Data, Variables>,
    variables: () => NoInfer<Variables>,
  ): AsyncGenerator<Data, void> {
    let pause = pauses.first;
    let isLost = false;
    let isFailing = false;
    let refusals = 0;
    while (!this.signal.aborted) {
      const connection = this.#connect();
      let isOpen = false;
      try {
        await connection.opened;
        if (isLost) this.note("Connected again.");
        [isOpen, isLost, refusals] = [true, false, 0];
        const events = connection.client.iterate<Data>({
          query: text,
          variables: variables() as Record<string, unknown>,
        });
        for await (const { data, errors } of events) {
          if (errors) throw errors;
          pause = pauses.first;
          isFailing = false;
          if (data) yield data;
        }
        return;
      } catch (error) {
        if (this.signal.aborted) return;
        const { isRejected, isReported, failure, reason } = problemOf(error);
        if (failure) throw failure;
        // A credential that is new is not rejected because it has expired.
        if (isRejected && !isOpen && ++refusals > 2) throw new ApiFailure(reason || "The server ends the connection.");
        const isRenewed = isRejected && (await this.#renewed(connection.token()));
        if (isReported) {
          if (!isFailing) this.note(`${reason} Trying again…`);
          isFailing = true;
        } else if (!isLost && !isRenewed) {
          this.note(`The connection to ${this.url} is lost (${reason}). Connecting again…`);
          isLost = true;
        }
      } finally {
        connection.close();
      }
      await sleep(pause * (0.75 + Math.random() / 2), undefined, { signal: this.signal }).catch(() => {});
      pause = Math.min(2 * pause, pauses.most);
    }
  }

  /** Renews a credential. Returns whether the server could be reached; throws if the login has ended. */
  #renewed = (rejected: string): Promise<boolean> =>
    this.session.renewed(rejected).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Unreachable) return false;
        throw error;
      },
    );

  #connect() {
    let token = "";
    let silence: NodeJS.Timeout | undefined;
    const opened = Promise.withResolvers<void>();
    const client: Client = createClient({
      url: `${this.url.replace("http", "ws")}/graphql`,
      connectionParams: async () => {
        token = await this.session.token();
        return { sessionToken: token };
      },
      lazy: false,
      onNonLazyError: (error) => opened.reject(error as Error),
      retryAttempts: 0,
      connectionAckWaitTimeout: timeout / 2,
      // A connection that has died without a word is ended, and then opened again.
      keepAlive: timeout / 2,
      on: {
        connected: () => opened.resolve(),
        closed: (event) => opened.reject(event as Error),
        ping: (isReceived) => {
          if (!isReceived) silence = setTimeout(() => client.terminate(), timeout / 2);
        },
        pong: () => clearTimeout(silence),
      },
    });
    opened.promise.catch(() => {});
    const close = () => {
      opened.reject(new Interrupted("Interrupted."));
      clearTimeout(silence);
      this.signal.removeEventListener("abort", close);
      void client.dispose();
    };
    this.signal.addEventListener("abort", close);
    return { client, close, opened: opened.promise, token: () => token };
  }
}

interface Problem {
  /** The credential was not accepted, or its session has ended. */
  isRejected?: true;
  /** The server is there, and reports a failure that passes, such as that of the program of a task. */
  isReported?: true;
  /** A failure that stays. */
  failure?: Error;
  reason: string;
}

function problemOf(error: unknown): Problem {
  if (Array.isArray(error)) {
    const failure = failureOf(error);
    if (failure.code === "UNAUTHENTICATED") return { isRejected: true, reason: failure.message };
    return temporary.has(failure.code)
      ? { isReported: true, reason: failure.message }
      : { failure, reason: failure.message };
  }
  const { code, reason } = error as { code?: unknown; reason?: string };
  if (typeof code === "number") {
    if (code === 4403) return { isRejected: true, reason: reason ?? "" };
    const text = reason || `close code ${code}`;
    return mistakes.has(code) ? { failure: new ApiFailure(text), reason: text } : { reason: text };
  }
  // What `Session.token` threw, except for a server that cannot be reached.
  const isFailure = error instanceof Error && !(error instanceof Unreachable) && error.name !== "TypeError";
  return isFailure ? { failure: error, reason: error.message } : { reason: reasonOf(error) };
}

/** Reads what a server responds. Members of another form than that of GraphQL over HTTP are left out. */
function responseOf(status: number, text: string): Response {
  const { data, errors, message } = membersOf(jsonIn(text));
  return {
    status,
    data: typeof data === "object" && data !== null && !Array.isArray(data) ? data : undefined,
    errors: Array.isArray(errors) ? errors : [],
    message: typeof message === "string" ? message : undefined,
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
