import { hash } from "node:crypto";
import type { UserActor } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { databaseTime } from "../../runtime/clock.js";
import { step } from "../engine/shapes.js";
import { cleanText } from "./results.js";
import type { Given, Tool } from "./tool.js";

const purpose = "mcp-deletion";

/** Milliseconds within which the user must decide. */
const lifetime = 10 * 60_000;

/** The text that a question is about: it holds for one caller, one tool, and the same arguments. */
function subjectOf({ userId, credential }: UserActor, { told }: Tool, given: Given): string {
  const sorted = Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash(
    "sha256",
    JSON.stringify([userId, credential.oauth?.clientId ?? credential.id, told.name, sorted]),
    "base64url",
  );
}

/** Seals a question, so that only a call with the same arguments can be its consequence. */
export function sealQuestion({ services }: Context, caller: UserActor, tool: Tool, given: Given): Promise<string> {
  return services.seals.seal(purpose, `${databaseTime() + lifetime}:${subjectOf(caller, tool, given)}`);
}

/** Whether a sealed question is about this call, and was asked a short time ago. */
export async function isQuestionOf(
  { services }: Context,
  caller: UserActor,
  tool: Tool,
  given: Given,
  sealed: unknown,
): Promise<boolean> {
  if (typeof sealed !== "string") return false;
  const text = await services.seals.open(purpose, sealed);
  if (text === undefined) return false;
  const [until, subject] = text.split(":");
  return Number(until) > databaseTime() && subject === subjectOf(caller, tool, given);
}

/** The question that the user gets. It names what would be deleted, as Steward knows it and not as the model calls it. */
export async function questionOf(ctx: Context, tool: Tool, given: Given): Promise<string> {
  const { asks, told } = tool;
  const named = await asks!.run(ctx.afresh(), asks!.variables(given));
  const owner = textOf(step(named, "owner_username") ?? step(named, "owner_name"));
  const name = textOf(step(named, "name"));
  return `${told.title}: ${name} of ${owner}? It cannot be undone.`;
}

/** A name in a question, on one line. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? cleanText(value).replace(/\s+/g, " ").slice(0, 100) : "";
