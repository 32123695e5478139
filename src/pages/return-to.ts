/** Characters; enough for any authorization request of an application. It fits into the header of a request. */
const longest = 8192;

/**
 * The path to show after sign-in: `wanted` if it is a path of this server, otherwise the front page. It begins with
 * exactly one slash, so that no browser reads it as another host.
 */
export const ownPath = (wanted: string | null): string =>
  wanted !== null && wanted.length <= longest && wanted.isWellFormed() && /^\/(?!\/)[^\\\p{Cc}]*$/u.test(wanted)
    ? wanted.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
    : "/";

/** A path of a page with the path to show after sign-in. */
export const withReturnTo = (path: string, returnTo: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ return_to: returnTo }).toString()}`;
