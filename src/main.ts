// Entry point of the server.
import { inNewNode } from "./runtime/node-version.js";

await inNewNode(async () => {
  await import("./runtime/compile-cache.js");
  await import("./cli/serve.js");
});
