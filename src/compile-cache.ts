// Keeps what V8 makes of the compiled program in its folder: compiling is a fifth of a start. Whoever can write there
// can change the program itself; where this process cannot, it goes without.
import module from "node:module";
import { fileURLToPath } from "node:url";
import { programFile } from "./program-files.js";

if (import.meta.url.endsWith(".js")) module.enableCompileCache(fileURLToPath(programFile("compile-cache")));
