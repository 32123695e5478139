// Mocha's report, followed by a command for each failure that runs it alone, and by one line with the totals.
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import Mocha from "mocha";

const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export default class Reporter extends Mocha.reporters.Spec {
  epilogue() {
    super.epilogue();
    const commands = this.failures.map((test) => {
      const file = relative(process.cwd(), test.file ?? "");
      // Hooks have no title of their own by which they could be selected.
      const selected =
        test.type === "hook" || / hook (for|in) "/.test(test.title) ? "" : ` -f ${quoted(test.fullTitle())}`;
      return `  npx mocha ${file}${selected}`;
    });
    if (commands.length > 0)
      Mocha.reporters.Base.consoleLog(`To run each failure alone:\n${[...new Set(commands)].join("\n")}\n`);
    const { passes, failures } = this.stats;
    // tools/test.mjs adds up several runs.
    if (process.env.STEWARD_TEST_TOTALS) appendFileSync(process.env.STEWARD_TEST_TOTALS, `${passes} ${failures}\n`);
    else Mocha.reporters.Base.consoleLog("%d passed, %d failed", passes, failures);
  }
}
