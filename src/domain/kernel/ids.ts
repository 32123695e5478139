import { v7 } from "uuid";

/** Returns a new UUIDv7. Ids of a process sort by creation, also within a millisecond. */
export const newId = (): string => v7();
