import { readFileSync } from "node:fs";

const top = new URL(import.meta.url.endsWith(".ts") ? ".." : ".", import.meta.url);

/**
 * Returns the URL of a file of the program, given by its path relative to `src`, or to `dist`, where the bundled modules
 * are at the top level.
 */
export const programFile = (path: string): URL => new URL(path, top);

/** The version of this program, and the SPDX identifier of its license. */
export const { version, license } = JSON.parse(readFileSync(programFile("../package.json"), "utf8")) as {
  version: string;
  license: string;
};
