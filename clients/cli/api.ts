// A client of the public API: operations over HTTP, subscriptions over graphql-transport-ws. Nothing here uses a database
// or the program of the server.
import { type Connection, ConnectionLost, openConnection } from "../api/connection.js";
import { reconnecting } from "../api/reconnecting.js";
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
  live<Data, Variables extends object>(
    { text }: Operation<Data, Variables>,
    variables: () => NoInfer<Variables>,
  ): AsyncGenerator<Data, void> {
    let token = "";
    let isLost = false;
    let isFailing = false;
    let refusals = 0;
    const connect = async () => {
      token = await this.session.token();
      const connection = await this.#connect(token);
      if (isLost) this.note("Connected again.");
      isLost = false;
      refusals = 0;
      return connection;
    };
    const { signal, url } = this;
    const read = async function* (connection: Connection) {
      for await (const data of connection.subscribe<Data>(text, variables(), signal)) {
        isFailing = false;
        yield data;
      }
    };
    const onLost = async (error: unknown, { isOpen }: { isOpen: boolean }) => {
      const { isRejected, isReported, failure, reason } = problemOf(error);
      if (failure) throw failure;
      // A credential that is new is not rejected because it has expired.
      if (isRejected && !isOpen && ++refusals > 2) throw new ApiFailure(reason || "The server ends the connection.");
      const isRenewed = isRejected && (await this.#renewed(token));
      if (isReported) {
        if (!isFailing) this.note(`${reason} Trying again…`);
        isFailing = true;
      } else if (!isLost && !isRenewed) {
        this.note(`The connection to ${url} is lost (${reason}). Connecting again…`);
        isLost = true;
      }
    };
    return reconnecting({ connect, read, onLost, pauses, signal });
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

  #connect(sessionToken: string): Promise<Connection> {
    return openConnection({
      url: `${this.url.replace("http", "ws")}/graphql`,
      connectionParams: { sessionToken },
      timeout: timeout / 2,
      // A connection that has died without a word is ended, and then opened again.
      keepAlive: timeout / 2,
      failureOf,
      signal: this.signal,
    });
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
  if (error instanceof ConnectionLost) {
    if (!error.closing) return { reason: reasonOf(error) };
    const { code, reason } = error.closing;
    if (code === 4403) return { isRejected: true, reason };
    const text = reason || `close code ${code}`;
    return mistakes.has(code) ? { failure: new ApiFailure(text), reason: text } : { reason: text };
  }
  if (error instanceof ApiFailure) {
    const { code, message: reason } = error;
    if (code === "UNAUTHENTICATED") return { isRejected: true, reason };
    return temporary.has(code) ? { isReported: true, reason } : { failure: error, reason };
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
