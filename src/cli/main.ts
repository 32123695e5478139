// The command line: `npm run steward -- --help` tells what it can do.
import "../node-version.js";
import "../compile-cache.js";
import "reflect-metadata";

// Loaded only now, by a Node that is known to be new enough.
const { run } = await import("./run.js");
await run(process.argv.slice(2));
