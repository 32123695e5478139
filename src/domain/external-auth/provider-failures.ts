/** The provider rejected a request: it returned an OAuth error (RFC 6749 §5.2), or a status that stands for one. */
export class ProviderRefusal extends Error {
  constructor(
    /** The error code in lower case. */
    readonly code: string,
    readonly status: number,
    /** Seconds, if the provider reports a rate limit. */
    readonly retryAfter?: number,
  ) {
    super(`The provider returned the error ${code}.`);
    this.name = "ProviderRefusal";
  }
}

/** The provider failed: it was not reachable in time, or its response is not usable. A retry may succeed. */
export class ProviderUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ProviderUnavailable";
  }
}

/** An error code as it may be shown and stored. Descriptions are never passed on: they may quote secrets. */
export const codeIn = (error: unknown): string =>
  typeof error === "string" && /^[\w.-]{1,64}$/.test(error) ? error.toLowerCase() : "unknown_error";
