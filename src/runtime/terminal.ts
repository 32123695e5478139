// The only way in which programs print. Much of what they print was written by others, and a terminal obeys some
// characters instead of showing them: they move the cursor, rename the window, or make a text link to something else.
import { stripVTControlCharacters } from "node:util";

/**
 * Matches characters that a terminal or a page obeys: the control characters C0, without tab and line feed, and C1, the
 * line and paragraph separators, and the embeddings, overrides, and isolates of the bidirectional algorithm.
 */
// oxlint-disable-next-line no-control-regex -- these are the characters to remove
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Those of them that may stand in JSON as they are. */
// oxlint-disable-next-line no-control-regex -- these are the characters to escape
const rawInJson = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Removes control sequences and all other characters that a terminal obeys, except for tabs and ends of lines. */
export const stripControls = (text: string): string => stripVTControlCharacters(text).replace(obeyed, "");

/** The same, on a single line. */
export const onOneLine = (text: string): string => stripControls(text).replace(/[\n\t]+/g, " ");

/** A sequence that sets colors and styles: `ESC [ 1 ; 31 m`. */
// oxlint-disable-next-line no-control-regex -- these sequences begin with a control character
const styling = /(\u001b\[[\d;:]*m)/;

/** Parameters that style text without hiding it: not 8, which conceals, and 5 and 6, which blink. */
const styles = /^(?:0?|[1-479]|2[1-57-9]|[34][0-79]|9[0-7]|10[0-7]|[34]8(?:[;:]5[;:]\d+|[;:]2[;:]+\d+[;:]\d+[;:]\d+))$/;

const isStyling = (sequence: string): boolean =>
  (sequence.slice(2, -1).match(/[34]8[;:](?:5[;:]\d+|2[;:]+\d+[;:]\d+[;:]\d+)|[^;]+/g) ?? [""]).every((each) =>
    styles.test(each),
  );

/** Does the same with a line of output of a program, but leaves its colors, which end with the line. */
export function shownInColor(line: string): string {
  let isStyled = false;
  // Every second part is a sequence.
  const parts = line.split(styling).map((part, nr) => {
    if (nr % 2 === 0) return stripControls(part);
    if (!isStyling(part)) return "";
    isStyled = true;
    return part;
  });
  return parts.join("") + (isStyled ? "\u001b[0m" : "");
}

/** JSON in which what a terminal obeys is escaped. The values stay as they are. */
export const jsonOf = (value: unknown, indent?: number): string => escapedJson(JSON.stringify(value, null, indent));

/** Escapes what a terminal obeys in a text that is JSON. */
export const escapedJson = (json: string): string =>
  json.replace(rawInJson, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Prints a result on standard output. */
export const print = (text: string): void => void process.stdout.write(`${stripControls(text)}\n`);

/** Prints an error, or a note, on standard error. */
export const printError = (text: string): void => void process.stderr.write(`${stripControls(text)}\n`);

/** Prints a line of output of a program on standard error. */
export const printOutput = (line: string): void => void process.stderr.write(`${shownInColor(line)}\n`);

/** Prints a text on standard output, as a single line: others cannot make up lines of a log. */
export const printLine = (text: string): void => void process.stdout.write(`${onOneLine(text)}\n`);
