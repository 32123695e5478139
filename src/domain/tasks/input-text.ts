import type { Context } from "../kernel/context.js";
import { meant, string } from "../kernel/values.js";
import { textProblem } from "../../runtime/text.js";

/** A text for a program. `inputProblem` has its rule, which depends on the settings. */
export const taskText = meant(string, { kind: "multi-line" });

/** Returns the violated rule of a text for a program; `undefined` if it is valid. */
export function inputProblem({ config }: Context, text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- Tab and line breaks are the only control characters of a prompt.
  if (/[\x01-\x08\x0b\x0c\x0e-\x1f]/.test(text))
    return "Must not contain control characters other than tab and line breaks.";
  const most = config.taskMaxInputBytes;
  return Buffer.byteLength(text) > most ? `Must be at most ${most} bytes.` : textProblem(text);
}
