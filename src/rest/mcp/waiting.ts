import type { Context } from "../../domain/kernel/context.js";
import { step } from "../engine/shapes.js";
import type { Waiting } from "./rows.js";
import type { Given, Tool } from "./tool.js";
import type { ToolResult } from "./results.js";

/** Tells the client how the wait goes on: how often the state was read, and the state. */
export type Report = (reads: number, state: string) => Promise<void>;

/** The state at a path, and whether it is one in which waiting goes on. */
function stateAt(
  body: unknown,
  { state, between }: Pick<Waiting, "state" | "between">,
): { text: string; isBetween: boolean } {
  const value = state.reduce<unknown>(step, body);
  const text = typeof value === "string" ? value : "";
  return { text, isBetween: between.includes(text) };
}

/** The state of what a tool waits for: of its own field, or of the other one once that has come to rest. */
function stateOf(body: unknown, waiting: Waiting): { text: string; isBetween: boolean } {
  const own = stateAt(body, waiting);
  return own.isBetween || !waiting.and ? own : { ...stateAt(body, waiting.and), text: own.text };
}

/**
 * Waits until a state has come to rest, or the time is over, or the client is gone. Reads again after each event of the
 * subscription, which ends with the rights of the caller. Returns the last state.
 */
export async function waitFor(
  ctx: Context,
  tool: Tool,
  given: Given,
  signal: AbortSignal,
  report: Report,
): Promise<ToolResult> {
  const { watch, main, options } = tool;
  const read = async () => {
    // A context keeps what it has read.
    const body: unknown = JSON.parse(JSON.stringify(await main.run(ctx.afresh(), main.variables(given))));
    return { body, ...stateOf(body, options.waits!) };
  };
  const events = await watch!.start(ctx, watch!.variables(given));
  const over = AbortSignal.any([signal, ctx.signal, AbortSignal.timeout(tool.waitOf(given) * 1000)]);
  const { promise: end, resolve } = Promise.withResolvers<{ done: true }>();
  const onEnd = () => resolve({ done: true });
  over.addEventListener("abort", onEnd);
  if (over.aborted) onEnd();
  try {
    let state = await read();
    for (let reads = 1; state.isBetween; reads++) {
      await report(reads, state.text);
      const { done } = await Promise.race([events.next(), end]);
      state = await read();
      if (done) break;
    }
    return tool.resultOf(state.body);
  } finally {
    over.removeEventListener("abort", onEnd);
    void events.return(undefined).catch(() => {});
  }
}
