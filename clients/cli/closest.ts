// Which of some names was probably meant by one that is none of them.

/** Returns the name that was probably meant, if there is one that is close. */
export function closest(typed: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(typed.length / 3));
  const near = names
    .map((name) => ({ name, distance: name.startsWith(typed) && typed.length > 1 ? 0 : distanceOf(typed, name) }))
    .filter(({ distance }) => distance <= most);
  return near.toSorted((one, other) => one.distance - other.distance || one.name.length - other.name.length)[0]?.name;
}

/** How many letters have to be changed, added, left out, or swapped with the next one, to make one text the other. */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, nr) => nr);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        last[j]! + 1,
        row[j - 1]! + 1,
        last[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? before[j - 2]! + 1 : Infinity,
      );
    }
    before = last;
    last = row;
  }
  return last[other.length]!;
}
