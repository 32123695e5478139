/** The data of an operation, whose shape its document determines. */
// oxlint-disable-next-line typescript/no-explicit-any -- this client has no generated types
export type Data = any;

/** An operation failed. The message names every invalid field. */
export class Failure extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

interface ReportedError {
  message: string;
  extensions?: { code?: string; detail?: string; validations?: Array<{ field: string; detail: string }> };
}

/** A caller of the GraphQL API of a server, with a token or without. */
export class Client {
  constructor(
    readonly url: string,
    readonly token?: string,
    /** The header of the token, if it is not that of users and agents. */
    private readonly header?: "Service-Proxy-Token",
  ) {}

  /** The same server, for another caller. */
  as = (token: string): Client => new Client(this.url, token);

  /** The same server, for a workspace proxy. */
  asProxy = (token: string): Client => new Client(this.url, token, "Service-Proxy-Token");

  /** Runs an operation. Throws a `Failure` with its first error. */
  run = (query: string, variables: object = {}): Promise<Data> => this.#run(query, variables);

  /** Runs a query for objects. Those that do not exist are null. Throws a `Failure` with the first other error. */
  find = (query: string): Promise<Data> => this.#run(query, {}, ["NOT_FOUND"]);

  async #run(query: string, variables: object, expected: string[] = []): Promise<Data> {
    const response = await this.#post({ query, variables });
    const { data, errors } = (await response.json().catch(() => ({}))) as { data?: Data; errors?: ReportedError[] };
    const error = errors?.find(({ extensions }) => !expected.includes(extensions?.code ?? ""));
    if (error) throw failureOf(error);
    if (!data) throw new Failure(`The server at ${this.url} is not ready: status ${response.status}.`, "UNAVAILABLE");
    return data;
  }

  /** Runs a mutation with one input, such as `createUser`. Returns the selected fields of its payload. */
  async mutate(name: string, input: object, fields = "__typename"): Promise<Data> {
    const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
    const data = await this.run(`mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`, { input });
    return data[name];
  }

  #post(body: object): Promise<Response> {
    const headers = {
      "Content-Type": "application/json",
      ...(this.token && (this.header ? { [this.header]: this.token } : { Authorization: `Bearer ${this.token}` })),
    };
    return fetch(`${this.url}/graphql`, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => {
      throw new Failure(`No server at ${this.url}. Start one with: npm start`, "UNREACHABLE");
    });
  }
}

function failureOf({ message, extensions: { code = "", detail, validations = [] } = {} }: ReportedError): Failure {
  const faults = validations.map(({ field, detail: rule }) => `${field}: ${rule}`);
  return new Failure([message, detail, ...faults].filter(Boolean).join(" "), code);
}
