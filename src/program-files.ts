import { readFileSync } from "node:fs";

/**
 * Returns the URL of a file of the program, given by its path relative to `src`, or to `dist`, where the bundled modules
 * are at the top level.
 */
export const programFile = (path: string): URL => new URL(path, import.meta.url);

/** The version of this program, and the SPDX identifier of its license. */
export const { version, license } = JSON.parse(readFileSync(programFile("../package.json"), "utf8")) as {
  version: string;
  license: string;
};
