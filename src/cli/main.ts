// Entry point of the command line. `npm run steward -- --help` lists the commands.
import { inNewNode } from "../runtime/node-version.js";

await inNewNode(async () => {
  await import("../runtime/compile-cache.js");
  await import("reflect-metadata");
  const { run } = await import("./run.js");
  await run(process.argv.slice(2));
});
