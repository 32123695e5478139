// Entry point of the provisioner daemon.
import { inNewNode } from "../../src/runtime/node-version.js";

await inNewNode(() => import("./run.js"));
