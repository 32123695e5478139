// Entry point of the command line, which starts either of two programs: the commands for users, a client, or those for
// operators. `npm run steward -- --help` lists the commands.
import { inNewNode } from "../runtime/node-version.js";

await inNewNode(async () => {
  await import("../runtime/compile-cache.js");
  const words = process.argv.slice(2);
  // Users wait for their commands: these load a small part of the program.
  const { isForUsers, runForUser, suggestionFor, userHelp } = await import("../../clients/cli/run.js");
  const { asksForHelp } = await import("../runtime/command-line.js");
  const { print } = await import("../runtime/terminal.js");
  const [first] = words;
  if (isForUsers(words)) return runForUser(words);
  if (first === undefined || first === "help" || asksForHelp([first])) return print(userHelp());
  if (first === "--version" || first === "version") return print((await import("../runtime/versions.js")).versions());
  await import("reflect-metadata");
  const { run } = await import("./run.js");
  await run(words, suggestionFor);
});
