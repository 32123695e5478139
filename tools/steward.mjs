#!/usr/bin/env node
// The command line as a program of npm: `npx steward` in a clone. Prepares the clone like the npm scripts do.
import "./prepare.mjs";

await import("../dist/cli/main.js");
