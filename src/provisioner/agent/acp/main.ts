// Entry point of the process that speaks ACP with the program of a task.
import { runAcp } from "./run.js";

try {
  process.exit(await runAcp(process.argv.slice(3)));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  // Not 1, with which it ends after it has reported a failure.
  process.exit(2);
}
