/**
 * Markdown as plain text: marks go, links become `text (url)`, list items keep their bullets, code stays as it is.
 * Whatever is no mark stays literal, raw HTML too. Takes time in proportion to the text, however hostile.
 */
export function plainText(markdown: string): string {
  const blocks: string[] = [];
  let paragraph: string[] = [];
  let fence: RegExp | undefined;
  const endParagraph = () => {
    if (paragraph.length > 0) blocks.push(inline(paragraph.join("\n")));
    paragraph = [];
  };
  for (const line of markdown.split(/\r\n?|\n/)) {
    const opening = fence ? undefined : /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line);
    if (opening) {
      endParagraph();
      fence = new RegExp(`^ {0,3}${opening[1]![0]}{${opening[1]!.length},}\\s*$`);
    } else if (fence?.test(line)) {
      fence = undefined;
    } else if (fence) {
      blocks.push(line);
    } else {
      const text = withoutBlockMarks(line);
      if (text === undefined) continue;
      if (text.trim() !== "") paragraph.push(text);
      else {
        endParagraph();
        blocks.push("");
      }
    }
  }
  endParagraph();
  return blocks
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}

/** A line without quote and heading marks, its bullet spelled `-`; `undefined` if it is but a rule or an underline. */
function withoutBlockMarks(line: string): string | undefined {
  const quoted = line.replace(/^(?: {0,3}> ?)+/, "");
  if (/^ {0,3}(?:=+|-{2,}|(?:[*_-] *){3,})\s*$/.test(quoted)) return undefined;
  const heading = /^ {0,3}#{1,6}(?:[ \t]+(.*))?$/.exec(quoted);
  if (heading)
    return (heading[1] ?? "")
      .trimEnd()
      .replace(/(?:^|[ \t])#+$/, "")
      .trimEnd();
  return quoted.replace(/^(\s*)[*+-](?=\s)/, "$1-").trimEnd();
}

const plainRun = /[^\\`<![\]*_~]+/y;
const escaped = /\\([\n!-/:-@[-`{-~])/y;
const autolink = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const linkTarget =
  /\(\s{0,9}(?:<([^<>\n]{0,2048})>|([^\s()]{0,2048}(?:\([^\s()]{0,2048}\)[^\s()]{0,2048})?))(?:\s{1,9}(?:"[^"]{0,300}"|'[^']{0,300}'|\([^()]{0,300}\)))?\s{0,9}\)/y;

/** A run of marks that may begin emphasis: where it stands among the pieces, and how many are unmatched. */
interface Opener {
  piece: number;
  left: number;
}

/** The text of a paragraph. */
const inline = (text: string): string => new Inline(text).read();

/** Reads a paragraph from left to right and gathers its pieces; a closing mark empties the piece of its opening one. */
class Inline {
  private at = 0;
  private readonly pieces: string[] = [];
  private readonly openers: Record<string, Opener[]> = { "*": [], _: [], "~": [] };
  private readonly brackets: number[] = [];

  constructor(private readonly text: string) {}

  read(): string {
    while (this.at < this.text.length) this.pieces.push(this.piece(this.text[this.at]!));
    return this.pieces.join("");
  }

  private piece(char: string): string {
    switch (char) {
      case "\\":
        return this.match(escaped)?.[1] ?? this.take(1);
      case "`":
        return this.code();
      case "<":
        return this.match(autolink)?.[1] ?? this.take(1);
      case "!":
        return this.text[this.at + 1] === "[" ? this.openBracket(2) : this.take(1);
      case "[":
        return this.openBracket(1);
      case "]":
        return this.closeBracket();
      case "*":
      case "_":
      case "~":
        return this.emphasis(char);
      default:
        return this.match(plainRun)![0];
    }
  }

  private code(): string {
    const ticks = runLength(this.text, this.at);
    const start = this.at + ticks;
    const end = closingTicks(this.text, start, ticks);
    if (end === -1) return this.take(ticks);
    this.at = end + ticks;
    const content = this.text.slice(start, end).replaceAll("\n", " ");
    return /^ .*[^ ].* $/.test(content) ? content.slice(1, -1) : content;
  }

  /** Gives the marks that neither close what is open nor may be closed later; those that may are emptied then. */
  private emphasis(mark: string): string {
    const before = this.text[this.at - 1] ?? " ";
    const marks = this.take(runLength(this.text, this.at));
    const after = this.text[this.at] ?? " ";
    if (mark === "~" && marks.length !== 2) return marks;
    const opens = hugs(before, after) && (mark !== "_" || !isWord(before));
    const closes = hugs(after, before) && (mark !== "_" || !isWord(after));
    const open = this.openers[mark]!;
    const left = closes ? this.close(open, mark, marks.length) : marks.length;
    if (left > 0 && opens) open.push({ piece: this.pieces.length, left });
    return mark.repeat(left);
  }

  /** Matches closing marks with open ones, innermost first, and gives how many find none. */
  private close(open: Opener[], mark: string, marks: number): number {
    let left = marks;
    for (let opener = open.at(-1); opener && left > 0; opener = open.at(-1)) {
      const matched = Math.min(left, opener.left);
      left -= matched;
      opener.left -= matched;
      this.pieces[opener.piece] = mark.repeat(opener.left);
      if (opener.left === 0) open.pop();
    }
    return left;
  }

  private openBracket(length: number): string {
    this.brackets.push(this.pieces.length);
    return this.take(length);
  }

  /** Ends a link or an image, if a target follows; else the bracket is just a bracket. */
  private closeBracket(): string {
    const bracket = this.take(1);
    const start = this.brackets.pop();
    const target = start === undefined ? undefined : this.match(linkTarget);
    if (start === undefined || !target) return bracket;
    for (const open of Object.values(this.openers)) while (open.length > 0 && open.at(-1)!.piece >= start) open.pop();
    const label = this.pieces.splice(start).slice(1).join("");
    const url = target[1] ?? target[2]!;
    if (url === "" || url === label) return label;
    return label === "" ? url : `${label} (${url})`;
  }

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at = pattern.lastIndex;
    return found ?? undefined;
  }

  private take(length: number): string {
    this.at += length;
    return this.text.slice(this.at - length, this.at);
  }
}

/** How often the character at `start` is repeated there. */
function runLength(text: string, start: number): number {
  let end = start + 1;
  while (text[end] === text[start]) end++;
  return end - start;
}

/** Where a run of exactly `ticks` backticks begins at or after `start`; -1 if nowhere. */
function closingTicks(text: string, start: number, ticks: number): number {
  let at = text.indexOf("`", start);
  while (at !== -1) {
    const length = runLength(text, at);
    if (length === ticks) return at;
    at = text.indexOf("`", at + length);
  }
  return -1;
}

const isSpace = (char: string) => /\s/.test(char);
const isPunctuation = (char: string) => /[\p{P}\p{S}]/u.test(char);
const isWord = (char: string) => !isSpace(char) && !isPunctuation(char);

/** Whether a mark between the two belongs to what follows it (CommonMark's left-flanking); exchanged, to what precedes it. */
const hugs = (before: string, after: string) => !isSpace(after) && (!isPunctuation(after) || !isWord(before));
