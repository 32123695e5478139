import { stripVTControlCharacters } from "node:util";

/** The end of a text that was cut. */
const mark = " … [cut]";

/** A sentence about an end, with the last line of the output; the sentence alone if there is none. */
export const withLastLine = (sentence: string, line: string): string =>
  line === "" ? sentence : `${sentence.replace(/\.$/, "")}: ${line}`;

/** The text of a line of output, without what only a terminal understands. */
export const textOfLine = (line: string): string =>
  stripVTControlCharacters(line)
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();

/** Cuts a text to a number of bytes, between characters and with a mark, and replaces what the server rejects. */
export function clipText(text: string, bytes: number): string {
  const clean = text.replaceAll("\0", "\u{FFFD}").toWellFormed();
  const buffer = Buffer.from(clean);
  if (buffer.length <= bytes) return clean;
  let end = bytes - Buffer.byteLength(mark);
  while ((buffer[end]! & 0xc0) === 0x80) end -= 1;
  return buffer.toString("utf8", 0, end) + mark;
}
