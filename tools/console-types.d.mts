/** Returns the text of each generated module by its path. */
export function generateTypes(): Promise<Record<string, string>>;
