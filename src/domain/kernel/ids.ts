import { v7 } from "uuid";

/** Returns the id of a new row or request: a UUIDv7, so that ids sort by time of creation, within a millisecond too. */
export const newId = (): string => v7();
