#!/usr/bin/env node
// The command line as a program of npm. In a clone, prepares it like the npm scripts do; an installed package is compiled.
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

if (existsSync(fileURLToPath(new URL("../src", import.meta.url)))) await import("./prepare.mjs");
await import("../dist/cli/main.js");
