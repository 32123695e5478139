/** Safe markup: literals of this program and escaped text. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, and `undefined` is left out. */
export type Part = Html | string | number | undefined | readonly Part[];

/** Template tag that builds markup. */
export const html = (fixed: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(fixed.reduce((before, text, index) => before + writePart(parts[index - 1]) + text));

function writePart(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(writePart).join("") : escapeText(String(part));
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escapeText = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!);
