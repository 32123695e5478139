import { statSync } from "node:fs";

/** Mask of all permissions of the file's group and of other users. */
const ofOthers = 0o077;

/** Reports whether other users of this machine have access to a file. False on Windows, which has no file modes. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== "win32" && (modeOf(path) & ofOthers) !== 0;

function modeOf(path: string): number {
  try {
    return statSync(path).mode;
  } catch {
    // Missing or inaccessible: the code that reads the file reports it.
    return 0;
  }
}
