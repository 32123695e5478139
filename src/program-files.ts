/**
 * A file that belongs to the program, by its path from the folder of the program: `src`, or `dist`, where all modules
 * are bundled into files that lie directly in it.
 */
export const programFile = (path: string): URL => new URL(path, import.meta.url);
