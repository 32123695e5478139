// Loaded into every measured server before its own code: answers the bench's questions over IPC, and dies with it.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

process.on("message", (question) => {
  if (question === "collect") collectGarbage();
  const { user, system } = process.cpuUsage();
  process.send({ cpu: user + system, rss: process.memoryUsage.rss() });
});
process.on("disconnect", () => process.exit());
process.channel.unref();

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
