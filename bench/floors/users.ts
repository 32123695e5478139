import { ids } from "../data.js";

/** The user of a session by its number: the floors of writes look up no session. */
export const userOf = (sessionId: string): string =>
  ids.user(sessionId.startsWith("o") ? 0 : Number(sessionId.slice(1)) + 1);
