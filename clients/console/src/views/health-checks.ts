/** Whether the failures of a check count nowhere now. */
export const isMuted = ({ mutedUntil }: { mutedUntil?: string | null }): boolean =>
  mutedUntil != null && Date.parse(mutedUntil) > Date.now();
