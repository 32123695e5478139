// Loaded into every measured server before its own code: responds to the bench over IPC, and exits with it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

process.on("message", (question) => {
  if (question === "collect") collectGarbage();
  process.send({ rss: process.memoryUsage.rss() });
});
process.on("disconnect", () => process.exit());
process.channel.unref();

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
