/** A GraphQL operation, for logs and metrics. */
export interface OperationDetails {
  /** Its name in the document, cut to 64 characters; `anonymous` without a name. */
  readonly name: string;
  readonly kind: string;
  /** Where the document is from: `stored` in the program, or sent by a `client`. */
  readonly source: "stored" | "client";
}

/** The metadata of a request. An area may add to it, as `rate-limits` does. */
export interface RequestDetails {
  id: string;
  ip?: string;
  userAgent?: string;
  /** The fault of a credential that is in no place where credentials are read, as a sentence. */
  unreadCredential?: string;
  /**
   * `commits` from the start of the commit, after which the request must not time out; `given up` after the 503 of a
   * timeout, after which it must not commit.
   */
  fate?: "commits" | "given up";
  /** The user or machine that sent it, once that is known. */
  actorId?: string;
  /** The operation that it runs; of several, the last one. */
  operation?: OperationDetails;
  /** The tool of the MCP server that a program called for the user. */
  tool?: string;
  /** The codes of its errors, each once. */
  errorCodes?: string[];
}

/** Records the code of an error of a request. */
export function noteError(request: RequestDetails, code: string): void {
  const codes = (request.errorCodes ??= []);
  if (!codes.includes(code)) codes.push(code);
}
