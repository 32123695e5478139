/** Computes a function once for each object. Its other arguments must be the same each time for the same object. */
export function memoized<Key extends object, Rest extends unknown[], Value>(
  compute: (key: Key, ...rest: Rest) => Value,
): (key: Key, ...rest: Rest) => Value {
  const results = new WeakMap<Key, Value>();
  return (key, ...rest) => {
    let result = results.get(key);
    if (result === undefined) results.set(key, (result = compute(key, ...rest)));
    return result;
  };
}
