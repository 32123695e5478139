// A client of the public API for commands: nothing here uses a database or the program of the server.
import { matching, readSettings, serverUrl, StartRefused } from "../provisioner/settings.js";
import { UsageError } from "./command.js";

const settings = {
  url: { name: "STEWARD_URL", read: serverUrl, rule: "an http or https URL without a path", meaning: "URL of Steward" },
  token: {
    name: "STEWARD_TOKEN",
    read: matching(/^[\x21-\x7e]+$/),
    rule: "the token of a session, or an API token",
    meaning: "Token of a session, or API token",
    isSecret: true,
  },
};

/** Milliseconds that a request may take. */
const timeout = 60_000;

/** A fault of an input, as the server reports it. */
interface Fault {
  /** Its path, such as `input.document.resources[0].name`. */
  field: string;
  detail: string;
}

/** A failure that the server, or the way to it, reports. */
export class ApiFailure extends Error {
  constructor(
    message: string,
    readonly code: string | undefined,
    readonly faults: readonly Fault[] = [],
  ) {
    super(message);
  }
}

interface Failure {
  message: string;
  extensions?: { code?: string; validations?: Fault[] };
}

export class StewardApi {
  private constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  /** Reads the URL and the token from the environment. Throws a `UsageError` that lists what is missing or faulty. */
  static configured(): StewardApi {
    try {
      const { url, token } = readSettings(settings, process.env);
      return new StewardApi(url, token);
    } catch (error) {
      throw error instanceof StartRefused ? new UsageError(error.message.replace("\nFor help: --help", "")) : error;
    }
  }

  /** Runs an operation. Throws an `ApiFailure` for any error. */
  async run<Data>(query: string, variables: object): Promise<Data> {
    const { status, text } = await this.#send(JSON.stringify({ query, variables }));
    const { data, errors = [], message } = parsed(text);
    const [failure] = errors;
    if (failure) throw new ApiFailure(failure.message, failure.extensions?.code, failure.extensions?.validations);
    if (data) return data as Data;
    const said = message ?? "the response is not that of Steward.";
    throw new ApiFailure(`${this.url} responded with status ${status}: ${said}`, undefined);
  }

  async #send(body: string): Promise<{ status: number; text: string }> {
    try {
      const response = await fetch(`${this.url}/graphql`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` },
        body,
        // The token is for this server only.
        redirect: "error",
        signal: AbortSignal.timeout(timeout),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      const { cause = error } = error as Error;
      throw new ApiFailure(`${this.url} cannot be reached: ${(cause as Error).message}`, undefined);
    }
  }
}

function parsed(text: string): { data?: object | null; errors?: Failure[]; message?: string } {
  try {
    return JSON.parse(text) as ReturnType<typeof parsed>;
  } catch {
    return {};
  }
}
