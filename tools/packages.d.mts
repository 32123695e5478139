/** The names of the packages that compiling and running need. */
export function rootsForBuild(): string[];
/** The paths in package-lock.json of some packages and of all that they need. */
export function closure(roots: readonly string[]): string[];
