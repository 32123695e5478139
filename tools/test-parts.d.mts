export const parts: { first: string[]; rest: string[] };
export function isOfRest(path: string): boolean;
