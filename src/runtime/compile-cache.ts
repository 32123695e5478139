// Caches V8's compiled code in `dist`, since compilation takes a fifth of the start. This adds no risk: a user who can
// write there can change the program itself. If the directory is not writable, there is no cache.
import module from "node:module";
import { fileURLToPath } from "node:url";
import { programFile } from "./program-files.js";

if (import.meta.url.endsWith(".js")) module.enableCompileCache(fileURLToPath(programFile("compile-cache")));
