// Entry point of the server.
import { inNewNode } from "./node-version.js";

await inNewNode(async () => {
  await import("./compile-cache.js");
  await import("./serve.js");
});
