// Questions to the user, on a terminal.
import { createInterface } from "node:readline/promises";
import { text as everything } from "node:stream/consumers";
import { Writable } from "node:stream";
import { onOneLine } from "../../src/runtime/terminal.js";
import { UsageError } from "../../src/runtime/command-line.js";
import { Failed, Interrupted } from "./failures.js";

/** Asks for permission. Throws `Failed` if it is not given, and a `UsageError` without a terminal to ask on. */
export async function confirm(question: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError("There is no terminal to ask for confirmation: use --yes.");
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await reader.question(`${onOneLine(question)} [y/N] `, { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failed("Nothing was changed.");
  } catch (error) {
    throw signal.aborted ? new Interrupted("Interrupted. Nothing was changed.") : error;
  } finally {
    reader.close();
  }
}

/** Reads a value that must not be seen: from a terminal without showing it, else all of standard input. */
export async function readHidden(question: string, signal: AbortSignal): Promise<string> {
  if (!process.stdin.isTTY) return (await everything(process.stdin)).replace(/\r?\n$/, "");
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // From here on, the terminal does not show what is typed.
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(onOneLine(question));
  try {
    return await reader.question("", { signal });
  } catch (error) {
    throw signal.aborted ? new Interrupted("Interrupted. Nothing was changed.") : error;
  } finally {
    reader.close();
    process.stderr.write("\n");
  }
}
