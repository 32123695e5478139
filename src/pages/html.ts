/** Safe markup: literals of this program and escaped text. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, and `undefined` is left out. */
export type Part = Html | string | number | undefined | readonly Part[];

/** Template tag that builds markup. */
export const html = (fixed: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(fixed.reduce((before, text, index) => before + written(parts[index - 1]) + text));

function written(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(written).join("") : escaped(String(part));
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!);
