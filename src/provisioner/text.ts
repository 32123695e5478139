/** The end of a text that was cut. */
const mark = " … [cut]";

/** Cuts a text to a number of bytes, between characters and with a mark, and replaces what the server rejects. */
export function clipped(text: string, bytes: number): string {
  const clean = text.replaceAll("\0", "\u{FFFD}").toWellFormed();
  const buffer = Buffer.from(clean);
  if (buffer.length <= bytes) return clean;
  let end = bytes - Buffer.byteLength(mark);
  while ((buffer[end]! & 0xc0) === 0x80) end -= 1;
  return buffer.toString("utf8", 0, end) + mark;
}
