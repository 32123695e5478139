import { RE2JS, RE2JSException } from "re2js";

/** Maximum length of a regular expression in characters. */
const longest = 500;

/** Maximum sizes of the compiled expressions, in instructions: of one, and of all in a document. */
const largest = 1000;
export const largestTogether = 5000;

/** Returns the rule of regular expressions (RE2 syntax) that `pattern` violates; `undefined` if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > longest) return `Must be at most ${longest} characters.`;
  if (sizeOf(pattern) > largest) return "Must be smaller: its repetitions multiply to too large an expression.";
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSException) return "Must be a regular expression in RE2 syntax.";
    throw error;
  }
}

/** Whether any part of a text matches, as RE2 does: in time linear in the lengths of the text and the expression. */
export const isMatch = (pattern: string, text: string): boolean => RE2JS.compile(pattern).test(text);

// Quoted text, an escape, a class, a group, or a counted repetition.
const tokens = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]])*\]|[()]|\{(\d+)(?:,(\d*))?\}|[^]/g;

/**
 * Estimates the size of the compiled expression, before it takes memory: each token counts 1, and a counted repetition
 * multiplies what it repeats.
 */
export function sizeOf(pattern: string): number {
  const outer: number[] = [];
  let [size, last] = [0, 0];
  for (const [token, least, most] of pattern.matchAll(tokens)) {
    if (token === "(") {
      outer.push(size);
      size = last = 0;
    } else if (token === ")") {
      last = size + 2;
      size = (outer.pop() ?? size) + last;
    } else if (least !== undefined) {
      const repeated = last * Math.max(1, Number(most || least));
      size += repeated - last;
      last = repeated;
    } else {
      last = token.startsWith("\\Q") ? token.length : 1;
      size += last;
    }
  }
  return outer.reduce((sum, each) => sum + each, size);
}
