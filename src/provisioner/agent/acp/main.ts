// Entry point of the process that speaks ACP with the program of a task.
import { runAcp } from "./run.js";

process.exit(await runAcp(process.argv.slice(3)));
