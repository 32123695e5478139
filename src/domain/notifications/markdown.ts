import MarkdownIt, { type RendererRule, type Token } from "markdown-it";

/**
 * CommonMark and `~~strikethrough~~`. Raw HTML is text, never markup. Only `http:`, `https:` and `mailto:` URLs become
 * links; others stay as written. Parsing takes time linear in the length of the text; blocks nested deeper than
 * `maxNesting` are left out, deeper inline marks stay literal.
 */
function makeParser() {
  const made = new MarkdownIt("commonmark", { html: false, maxNesting: 100 }).enable("strikethrough");
  made.validateLink = (url) => /^(?:https?|mailto):/i.test(url);
  made.renderer.rules.image = showImage;
  return made;
}

/** Images are shown as links to them: a mail loads nothing. */
const showImage: RendererRule = (tokens, index) => {
  const image = tokens[index]!;
  const url = escapeHtml(String(image.attrGet("src")));
  return `<a href="${url}">${escapeHtml(image.content) || url}</a>`;
};

const parser = makeParser();

/** For long texts of strangers: links name their URL themselves, since a URL for many links makes a long text of a short one. */
const parserOfMessages = makeParser().disable("reference");

/** Escapes text for HTML, in content and in quoted attributes. */
export const escapeHtml = (text: string): string => parser.utils.escapeHtml(text);

/** Renders Markdown as HTML. */
export const htmlOf = (markdown: string): string => parser.render(markdown);

/** Renders a message of a conversation as HTML, at most 30 times as long. Definitions of links stay text. */
export const htmlOfMessage = (markdown: string): string => parserOfMessages.render(markdown);

/**
 * Renders Markdown as plain text: without marks, links and images as `text (url)`, list items with bullets or numbers,
 * code unchanged. Keeps blank lines between blocks.
 */
export function plainText(markdown: string): string {
  const writer = new TextWriter();
  const tokens = parser.parse(markdown, {});
  for (const [index, token] of tokens.entries()) {
    if (token.type === "list_item_open") writer.openItem(token);
    else if (token.type === "list_item_close") writer.closeItem();
    else if (token.type === "inline") writer.write(inlineText(token.children!), tokens[index - 1]!.map!);
    else if (token.type === "fence" || token.type === "code_block") writer.write(token.content, token.map!);
  }
  return writer.text();
}

/** Renders blocks on separate lines, those in lists indented. */
class TextWriter {
  readonly #lines: string[] = [];
  /** The indents of the open list items. */
  readonly #indents: string[] = [""];
  /** The start of the next line: its indent, or the bullets of items without a line so far. */
  #prefix = "";
  /** The source line after the last block. */
  #end = 0;

  write(block: string, [start, end]: [number, number]): void {
    if (start > this.#end) this.#lines.push("");
    this.#end = end;
    for (const line of block.trimEnd().split("\n")) {
      this.#lines.push((this.#prefix + line).trimEnd());
      this.#prefix = this.#indents.at(-1)!;
    }
  }

  openItem({ info, markup }: Token): void {
    const bullet = info ? `${info}${markup} ` : "- ";
    this.#prefix += bullet;
    this.#indents.push(this.#indents.at(-1)! + " ".repeat(bullet.length));
  }

  closeItem(): void {
    const isEmpty = this.#prefix !== this.#indents.pop();
    if (isEmpty) this.#lines.push(this.#prefix.trimEnd());
    this.#prefix = this.#indents.at(-1)!;
  }

  text(): string {
    return this.#lines.join("\n").trim();
  }
}

function inlineText(tokens: readonly Token[]): string {
  const pieces: string[] = [];
  let link = { start: 0, url: "" };
  for (const token of tokens) {
    if (token.type === "softbreak" || token.type === "hardbreak") pieces.push("\n");
    else if (token.type === "image") pieces.push(linkText(inlineText(token.children!), String(token.attrGet("src"))));
    else if (token.type === "link_open") link = { start: pieces.length, url: String(token.attrGet("href")) };
    else if (token.type === "link_close") pieces.push(linkText(pieces.splice(link.start).join(""), link.url));
    else pieces.push(token.content);
  }
  return pieces.join("");
}

/** `label (url)`, or only one of them if they are equivalent. */
function linkText(label: string, url: string): string {
  if (label === "") return url;
  const isSame = [url, url.replace(/^mailto:/i, "")].includes(parser.normalizeLink(label));
  return isSame || url === "" ? label : `${label} (${url})`;
}
