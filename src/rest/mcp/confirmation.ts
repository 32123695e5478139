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

/** The object that a call would delete, as Steward knows it and not as the model calls it. */
export interface Deletion {
  caller: UserActor;
  tool: Tool;
  given: Given;
  /** ID of the object: a name may be that of another one later. */
  id: string;
  /** The question that the user gets. */
  question: string;
}

/** Finds the object that a call would delete. Throws if the caller may not read it. */
export async function deletionOf(ctx: Context, caller: UserActor, tool: Tool, given: Given): Promise<Deletion> {
  const { asks, told } = tool;
  const named = await asks!.run(ctx.afresh(), asks!.variables(given));
  const owner = textOf(step(named, "owner_username") ?? step(named, "owner_name"));
  const name = textOf(step(named, "name"));
  const question = `${told.title}: ${name} of ${owner}? It cannot be undone.`;
  return { caller, tool, given, id: textOf(step(named, "id")), question };
}

/** The text that a question is about: it holds for one caller, one tool, the same arguments, and the same object. */
function subjectOf({ caller: { userId, credential }, tool: { told }, given, id }: Deletion): string {
  const sorted = Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash(
    "sha256",
    JSON.stringify([userId, credential.oauth?.clientId ?? credential.id, told.name, sorted, id]),
    "base64url",
  );
}

/** Seals a question, so that only a call with the same arguments can be its consequence. */
export const sealQuestion = ({ services }: Context, deletion: Deletion): Promise<string> =>
  services.seals.seal(purpose, `${databaseTime() + lifetime}:${subjectOf(deletion)}`);

/** Whether a sealed question is about this call, and was asked a short time ago. */
export async function isQuestionOf({ services }: Context, deletion: Deletion, sealed: unknown): Promise<boolean> {
  if (typeof sealed !== "string") return false;
  const text = await services.seals.open(purpose, sealed);
  if (text === undefined) return false;
  const [until, subject] = text.split(":");
  return Number(until) > databaseTime() && subject === subjectOf(deletion);
}

/** A name in a question, on one line. */
const textOf = (value: unknown): string =>
  typeof value === "string" ? cleanText(value).replace(/\s+/g, " ").slice(0, 100) : "";
