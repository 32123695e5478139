const longest = 2048;

/**
 * Where to go after signing in: a path of this server that begins with exactly one slash, else the front page. A browser
 * must not be able to read it as another host.
 */
export const ownPath = (wanted: string | null): string =>
  wanted !== null && wanted.length <= longest && wanted.isWellFormed() && /^\/(?!\/)[^\\\p{Cc}]*$/u.test(wanted)
    ? wanted.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
    : "/";
