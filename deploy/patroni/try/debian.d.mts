/** Rejects with the reason if the packages cannot be had, as on machines whose packages come from elsewhere. */
export function unpack(release: string, names: readonly string[], directory: string): Promise<void>;
