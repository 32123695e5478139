import { ids } from "../data.js";

/** Whose session it is, told by its number alone: the floors of writes look nobody up. */
export const userOf = (sessionId: string): string =>
  ids.user(sessionId.startsWith("o") ? 0 : Number(sessionId.slice(1)) + 1);
