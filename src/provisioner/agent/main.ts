// Entry point of the agent for one external agent. It is also delivered to machines as a single file without packages.
import { inNewNode } from "../../runtime/node-version.js";

await inNewNode(() => import("./run.js"), 0);
