// How long tests of chance are: races are repeated, and tables of hostile texts are tried in each of many places.

/** Whether they have their full length. `npm run test:rest -- --long` runs the files of such tests again with it. */
export const isLong = process.env.STEWARD_TEST_LONG === "1";

/** The number of repetitions, or of requests at a time. */
export const repeats = (few: number, many: number): number => (isLong ? many : few);

/**
 * Some of the values, or all of them at full length. `share` places have all values among them, and `place` is the number of
 * this one.
 */
export const someFor = <Value>(place: number, share: number, values: readonly Value[]): Value[] =>
  values.filter((_, index) => isLong || (index + place) % share === 0);
