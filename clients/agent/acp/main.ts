// Entry point of the process that speaks ACP with the program of a task.
import { printError } from "../../../src/runtime/terminal.js";
import { runAcp } from "./run.js";

try {
  process.exit(await runAcp(process.argv.slice(3)));
} catch (error) {
  printError((error as Error).message);
  // Not 1, with which it ends after it has reported a failure.
  process.exit(2);
}
