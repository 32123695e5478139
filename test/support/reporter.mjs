// Mocha's report, followed by a command for each failure that runs it alone, and by one line with the totals.
import Mocha from "mocha";
import { relative } from "node:path";

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
    Mocha.reporters.Base.consoleLog("%d passed, %d failed", this.stats.passes, this.stats.failures);
  }
}
