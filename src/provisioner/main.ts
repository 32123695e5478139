// Entry point of the provisioner daemon.
import { inNewNode } from "../node-version.js";

await inNewNode(() => import("./run.js"));
