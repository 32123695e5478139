/** The characters that pages and mails put around texts that people copy: white space of Unicode, U+FEFF, and the two marks without width. */
const edge = /[\s\u200b\u2060]/;

/**
 * Removes the white space around what people paste: licenses, emails, tokens, keys, and codes, where it never means
 * anything. Each edge of the program does so once: arguments of GraphQL that are `pasted`, headers, and settings. Not for
 * passwords, the values of secrets, prompts, and what is kept verbatim. Takes time in the length of the text alone.
 */
export function withoutEdges(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && edge.test(text[start]!)) start++;
  while (end > start && edge.test(text[end - 1]!)) end--;
  return text.slice(start, end);
}
