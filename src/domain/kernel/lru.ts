import { LRUCache } from "lru-cache";

/**
 * Returns a cache of at most `limit` values, which evicts the least recently used. It grows with its content; with the
 * option `max`, the package allocates the memory of a full cache, which takes 25 ms and 6 MB for the caches of a server.
 */
export const lruCache = <Key extends string, Value extends object | number>(limit: number): LRUCache<Key, Value> =>
  new LRUCache({ maxSize: limit, sizeCalculation: () => 1 });
