/** Cuts a text to a number of bytes, without half a character, and replaces what the server rejects. */
export function clipped(text: string, bytes: number): string {
  const clean = text.replaceAll("\0", "\u{FFFD}").toWellFormed();
  if (Buffer.byteLength(clean) <= bytes) return clean;
  return Buffer.from(clean)
    .subarray(0, bytes)
    .toString()
    .replace(/\u{FFFD}+$/u, "");
}
