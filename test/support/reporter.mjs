// Mocha's report, followed by a command for each failure that runs it alone, and by one line with the totals. For
// tools/test.mjs, which adds up several runs and repeats their failures at its end, both go to a file instead.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { format } from "node:util";
import Mocha from "mocha";

const { Base, Spec } = Mocha.reporters;

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export default class Reporter extends Spec {
  epilogue() {
    super.epilogue();
    const all = this.failures.map((test) => {
      const file = relative(process.cwd(), test.file ?? "");
      // Hooks have no title of their own by which they could be selected.
      const selected =
        test.type === "hook" || / hook (for|in) "/.test(test.title) ? "" : ` -f ${quoted(test.fullTitle())}`;
      return `  npx mocha ${file}${selected}`;
    });
    const commands = [...new Set(all)];
    if (commands.length > 0) Base.consoleLog(`To run each failure alone:\n${commands.join("\n")}\n`);
    const { passes, failures } = this.stats;
    const totals = process.env.STEWARD_TEST_TOTALS;
    if (!totals) return Base.consoleLog("%d passed, %d failed", passes, failures);
    const reasons = failures > 0 ? [...listOf(this.failures), ...commands] : [];
    appendFileSync(totals, `${JSON.stringify({ passed: passes, failed: failures, reasons })}\n`);
  }
}

/** The lines by which mocha lists failures, which it can only print. */
function listOf(failures) {
  const { consoleLog } = Base;
  const lines = [];
  Base.consoleLog = (...given) => lines.push(format(...given));
  Base.list(failures);
  Base.consoleLog = consoleLog;
  return lines;
}
