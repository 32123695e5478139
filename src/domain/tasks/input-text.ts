import type { Context } from "../kernel/context.js";
import { meant, textWith } from "../kernel/values.js";
import { textProblem } from "../../runtime/text.js";

/** Tab and line breaks are the only control characters of a text for a program. */
// oxlint-disable-next-line no-control-regex
const shownForm = /^[^\x01-\x08\x0b\x0c\x0e-\x1f]*$/;

/** A text for a program. `inputProblem` has its rules; how long it may be depends on the settings. */
export const taskText = meant(textWith({ pattern: shownForm.source }), { kind: "multi-line" });

/** Returns the violated rule of a text for a program; `undefined` if it is valid. */
export function inputProblem({ config }: Context, text: string): string | undefined {
  if (!shownForm.test(text)) return "Must not contain control characters other than tab and line breaks.";
  const most = config.taskMaxInputBytes;
  return Buffer.byteLength(text) > most ? `Must be at most ${most} bytes.` : textProblem(text);
}
