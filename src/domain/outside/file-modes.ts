import { statSync } from "node:fs";

/** Any permission of the file's group or of others. */
const ofOthers = 0o077;

/** Whether other users of this machine have access to a file. Windows has no such modes. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== "win32" && (modeOf(path) & ofOthers) !== 0;

function modeOf(path: string): number {
  try {
    return statSync(path).mode;
  } catch {
    // Missing or out of reach: whoever reads it next says so.
    return 0;
  }
}
