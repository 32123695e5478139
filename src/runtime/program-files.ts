import { existsSync, readFileSync } from "node:fs";

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

const noted = programFile("commit");

/**
 * The commit of the sources from which this program was built: 12 hexadecimal digits, with `-dirty` after them if files
 * differed from it. Null if the build did not know it, and for a program that runs from its sources.
 */
export const commit: string | null = (existsSync(noted) && readFileSync(noted, "utf8").trim()) || null;

/** The version, with the commit if it is known: `0.1.0 (1a2b3c4d5e6f)`. */
export const fullVersion = commit === null ? version : `${version} (${commit})`;
