// Entry point of the agent for one external agent. It is also delivered to machines as a single file without packages.
import { inNewNode } from "../../src/runtime/node-version.js";

await inNewNode(() => (process.argv[2] === "acp" ? import("./acp/main.js") : import("./run.js")), 0);
