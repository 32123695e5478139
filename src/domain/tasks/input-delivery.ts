import { setTimeout as sleep } from "node:timers/promises";
import type { Services } from "../kernel/context.js";
import { isValid, httpUrl } from "../kernel/values.js";
import {
  type AgentApi,
  type AppPlace,
  type AgentMessage,
  AgentRejection,
  AgentUnreachable,
} from "../../infrastructure/agent-api.js";

/** The base of the AgentAPI paths of an app, without a slash at the end; `undefined` if the app has no such URL. */
function appBase(url: string | null): string | undefined {
  if (!url || !isValid(httpUrl, url)) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/+$/, "");
}

/** Milliseconds for which the conversation is read to find a message whose delivery is uncertain, and between reads. */
export const confirmation = { within: 10_000, every: 1_000 };

/** The purpose of the bearer token that programs get from Steward. */
const bearerPurpose = "task-app";

/** The bearer token by which the program of an agent knows Steward: another one at each start. */
export const appBearer = ({ seals }: Pick<Services, "seals">, agentId: string): Promise<string> =>
  seals.mark(bearerPurpose, agentId);

/** Where the program of a task is reached by AgentAPI; `undefined` if its app has no URL. */
export async function appPlace(
  services: Pick<Services, "seals">,
  { appUrl, agentId }: { appUrl: string | null; agentId: string | null },
): Promise<AppPlace | undefined> {
  const base = appBase(appUrl);
  return base === undefined ? undefined : { base, bearer: agentId === null ? "" : await appBearer(services, agentId) };
}

/** How a delivery ended. `unsent` means that the program received nothing. */
export type DeliveryOutcome = { state: "delivered" } | { state: "failed" | "unconfirmed" | "unsent"; detail: string };

/**
 * Returns the id of the newest message of a conversation; -1 if it is empty. Returns the greatest possible id if the
 * conversation is too long to read: inputs can then be sent, but no message confirms an uncertain delivery. Rejects
 * with `AgentUnreachable`.
 */
export async function newestOf(agentApi: AgentApi, place: AppPlace): Promise<number> {
  try {
    return (await agentApi.messages(place)).at(-1)?.id ?? -1;
  } catch (error) {
    if (error instanceof AgentUnreachable && error.isTooLong) return Number.MAX_SAFE_INTEGER;
    throw error;
  }
}

/**
 * Sends an input to the program of a task, once. If the response is lost, the conversation shows whether it has arrived:
 * then it has a message of a user with this content that is later than `newest`.
 */
export async function deliver(
  { agentApi }: Pick<Services, "agentApi">,
  place: AppPlace,
  content: string,
  newest: number,
): Promise<DeliveryOutcome> {
  try {
    await agentApi.send(place, content);
    return { state: "delivered" };
  } catch (error) {
    if (error instanceof AgentRejection) return { state: "failed", detail: error.title };
    if (!(error instanceof AgentUnreachable)) throw error;
    return error.wasSent ? confirm(agentApi, place, content, newest) : { state: "unsent", detail: error.message };
  }
}

/** Looks for a message in the conversation for a while. */
export async function confirm(
  agentApi: AgentApi,
  place: AppPlace,
  content: string,
  newest: number,
): Promise<DeliveryOutcome> {
  const deadline = performance.now() + confirmation.within;
  for (;;) {
    const messages = await agentApi.messages(place).catch((): AgentMessage[] => []);
    const isThere = messages.some((each) => each.role === "user" && each.id > newest && each.content === content);
    if (isThere) return { state: "delivered" };
    if (performance.now() + confirmation.every > deadline)
      return { state: "unconfirmed", detail: "The task app did not confirm the message." };
    await sleep(confirmation.every);
  }
}
