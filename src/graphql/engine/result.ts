import type { ExecutionResult } from "graphql";

/** What running an operation comes to. */
export type Result = ExecutionResult<Record<string, unknown>>;

/** Whether a response has more than `most` bytes as JSON, escapes aside. Stops counting there, and copies nothing. */
export function isLarger({ data, errors = [] }: Result, most: number): boolean {
  let left = most;

  function count(value: unknown): void {
    if (left < 0) return;
    if (typeof value === "string") left -= Buffer.byteLength(value) + 3;
    else if (Array.isArray(value)) for (const each of value) count(each);
    else if (typeof value === "object" && value !== null) for (const key in value) countField(key, value);
    else left -= 5;
  }

  function countField(key: string, object: object): void {
    const value = (object as Record<string, unknown>)[key];
    if (value === undefined) return;
    left -= key.length + 3;
    count(value);
  }

  count(data);
  for (const { message, originalError } of errors) count(originalError ?? message);
  return left < 0;
}
