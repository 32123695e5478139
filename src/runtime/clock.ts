/**
 * The time on the clock of the database when the monotonic clock of this process was 0; `undefined` until it is read.
 */
let origin: number | undefined;

/**
 * The time by the clock of the database in Unix milliseconds. All replicas agree on it, whatever the clocks of their
 * machines show, so it alone decides what has expired. Before the first reading, it is the time of this machine.
 */
export const databaseTime = (): number => (origin === undefined ? Date.now() : Math.floor(origin + performance.now()));

/** Sets the clock to what the clock of the database shows now. */
export function setDatabaseTime(time: number): void {
  origin = time - performance.now();
}

/**
 * Unix milliseconds of a time in RFC 3339, or of a day. Throws on any other text: NaN compares as false, so that what it is
 * the end of would never end.
 */
export function instantOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new Error(`A time cannot be read: ${JSON.stringify(text)}.`);
  return time;
}
