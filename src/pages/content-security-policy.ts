// The content security policies (CSP) of all pages.

const ownImages = "img-src 'self' data:";

/**
 * No scripts, unless the page has one of ours, which may call this server and write no markup; only our own style, nothing from
 * other origins but the target of a form, and no framing.
 */
export const pagePolicy = (formAction = "", hasScript = false) =>
  [
    "default-src 'none'",
    ...(hasScript
      ? ["script-src 'self'", "connect-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"]
      : []),
    "style-src 'self'",
    ownImages,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action 'self' ${formAction}`.trim(),
  ].join("; ");

/** A policy that allows the image at a URL, too. */
export function withImage(policy: string, url: string): string {
  const origin = /^https?:/i.test(url) && URL.canParse(url) ? new URL(url).origin : undefined;
  return origin === undefined ? policy : policy.replace(ownImages, `${ownImages} ${origin}`);
}

/** The console: only our own scripts, styles, and connections; nothing from other origins, no markup from texts, and no framing. */
export const consolePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  ownImages,
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join("; ");

/** The explorer and the API reference: only our own scripts. Both tools need inline styles, and the editor starts its workers from blobs. */
export const explorerPolicy = [
  "default-src 'none'",
  "script-src 'self' blob:",
  "worker-src 'self' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Pages of text on the hosts of applications, which are not ours alone: nothing at all. */
export const bareTextPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
