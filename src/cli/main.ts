// Entry point of the command line. `npm run steward -- --help` lists the commands.
import "../node-version.js";
import "../compile-cache.js";
import "reflect-metadata";

// Imported dynamically, after the check of the Node version.
const { run } = await import("./run.js");
await run(process.argv.slice(2));
