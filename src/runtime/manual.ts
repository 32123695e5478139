// The form of help and of usage errors, for the command lines of all programs.

/** The width of terminals that help must fit in. */
const columns = 80;

/** The exit status after a mistake in the command line. */
export const misused = 2;

/** The command line is invalid. The message says what is wrong, and how to get help. */
export class UsageError extends Error {
  constructor(fault: string, help?: string) {
    super(help === undefined ? fault : `${fault}\nFor help, run: ${help}`);
  }
}

/** Breaks a text into lines. */
export function wrapText(text: string, width = columns): string[] {
  return text.split(" ").reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) return [...lines, word];
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);
}

/** Formats names with their descriptions, in two columns of which the second is as wide as possible. */
export function table(rows: ReadonlyArray<readonly [name: string, text: string]>): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 4;
  return rows
    .flatMap(([name, text]) =>
      wrapText(text, columns - width).map((line, nr) => `  ${nr === 0 ? name : ""}`.padEnd(width) + line),
    )
    .join("\n");
}

/** Formats names with their descriptions below them, for long names. */
export const list = (entries: ReadonlyArray<readonly [name: string, text: string]>): string =>
  entries.map(([name, text]) => [...indentLines(name, 2), ...indentLines(text, 6)].join("\n")).join("\n");

const indentLines = (text: string, by: number) => wrapText(text, columns - by).map((line) => " ".repeat(by) + line);
