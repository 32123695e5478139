// Results of operations, which may be large: how they are measured, and completed without blocking the process.
import { type ExecutionResult, type GraphQLSchema, isObjectType } from "graphql";
import type { Page } from "../../domain/kernel/paging.js";
import { turn } from "../../runtime/concurrency.js";

/** The result of running an operation. */
export type Result = ExecutionResult<Record<string, unknown>>;

/** Bytes of JSON up to which a response is written in one turn of the event loop, in a few milliseconds. */
const inOneTurn = 256 * 1024;

/** The data of results that were measured and have more bytes. */
const large = new WeakSet<object>();

/** Whether a result was measured as too large for one turn. */
export const isLarge = (data: object | null | undefined): boolean => data != null && large.has(data);

/**
 * Whether a response has more than `most` bytes as JSON, not counting escapes. Stops counting there, and copies nothing.
 * Records the result for `isLarge`.
 */
export function isLarger(result: Result, most: number): boolean {
  const left = leftOf(most, result);
  if (result.data && most - left > inOneTurn) large.add(result.data);
  return left < 0;
}

/** How many of `most` bytes a response leaves; negative if it has more. */
function leftOf(most: number, { data, errors = [] }: Result): number {
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
  return left;
}

/** Items of a list that are completed in one turn of the event loop; they may have lists of their own. */
const slice = 50;

/** Lists up to this length, such as default pages, are completed in one turn. */
const short = 100;

/** Lets the lists of connections be completed in slices: a long one would block the process until its end. */
export function paceConnections(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || !type.name.endsWith("Connection")) continue;
    const { nodes, edges } = type.getFields();
    nodes!.resolve = ({ nodes: items }: Page<unknown>) => completeInSlices(items);
    const { resolve } = edges!;
    edges!.resolve = async (...given) => completeInSlices((await resolve!(...given)) as unknown[]);
  }
}

/** A list whose items come slice by slice; a short one as it is. */
function completeInSlices<Item>(items: Item[]): Array<Item | Promise<Item>> {
  if (items.length <= short) return items;
  let begun = Promise.resolve();
  return items.map((item, index) => {
    if (index % slice === 0) begun = turn();
    return begun.then(() => item);
  });
}
