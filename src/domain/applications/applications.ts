import type { Context, Services } from "../kernel/context.js";
import { createApplicationKey } from "./keys.js";
import { openMessage, sealMessage } from "./messages.js";
import { type Target, targetOf } from "./targets.js";
import { statement } from "../kernel/database.js";
import { readServerInfo } from "../deployment/deployment.js";
import { badInput, notFound } from "../kernel/errors.js";
import { urlProblem } from "../kernel/text.js";

/** The query parameter that carries a message. */
const parameter = "steward_application_connect";

/** Where applications have hosts of their own: `*.apps.example.com` with the port of the deployment, or empty. */
export function applicationsHost({ config }: Context): string {
  if (config.wildcardAccessUrl === undefined) return "";
  const { port } = new URL(config.accessUrl);
  return config.wildcardAccessUrl + (port && `:${port}`);
}

export interface CreateApplicationRedirect {
  redirectUri?: string | null;
}

/** Hands the caller's right to open applications to the host that serves them. Gives where to go with it. */
export async function createApplicationRedirect(ctx: Context, input: CreateApplicationRedirect): Promise<string> {
  const { userId } = ctx.actor;
  if (userId === undefined) throw notFound();
  const url = redirectUrl(input.redirectUri);
  const target = await targetOf(ctx, url);
  if (!target) throw refused("Is no host of an application.", "Invalid redirect_uri.");
  const apiKey = await createApplicationKey(ctx, userId, url.host);
  const { recipient, origin: audience } = target;
  return locationOf(url, target, await sealMessage(ctx, { recipient, audience, userId, apiKey }));
}

const refused = (detail: string, message?: string) => badInput([{ field: "redirectUri", detail }], message);

/** Who reads the address otherwise than we do must not get elsewhere: so it is written anew from its parts. */
function redirectUrl(text: string | null | undefined): URL {
  if (!text) throw refused("Is required.");
  const problem = urlProblem(text);
  if (problem) throw refused(problem);
  return new URL(text);
}

/** Path, query and fragment as they were, but for the message, of which there is one. */
const locationOf = ({ pathname, search, hash }: URL, { origin }: Target, message: string): string =>
  `${origin}${pathname}${withoutMessage(search, `${parameter}=${message}`)}${hash}`;

function withoutMessage(search: string, ...added: string[]): string {
  const kept = search.slice(1).split("&");
  const parts = [...kept.filter((part) => part !== "" && !new URLSearchParams(part).has(parameter)), ...added];
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/** A request to one of our own application hosts. */
export interface Arrival {
  /** Of the deployment's scheme. */
  origin: string;
  path: string;
  /** With the question mark, or empty. */
  search: string;
}

/** What becomes of somebody who arrives with a message: the key for the browser, and where to go without the message. */
export interface Welcome {
  apiKey: string;
  location: string;
}

const spend = statement<{ id: string }>(`
  insert into spent_app_connects (id, expires_at) values ($1, $2) on conflict do nothing returning id`);

/** Takes the message that somebody arrives with. Every fault is the same one: nothing is said of a message. */
export async function receiveApplicationKey(ctx: Context, { origin, path, search }: Arrival): Promise<Welcome> {
  const { deploymentId } = await readServerInfo(ctx);
  const text = new URLSearchParams(search).get(parameter) ?? "";
  const message = await openMessage(ctx, text, { recipient: deploymentId, audience: origin });
  const isNew = message && (await ctx.row(spend, message.id, message.expiresAt)) !== undefined;
  if (!isNew) throw badInput([], "This link does not count. Open the application again.");
  return { apiKey: message.apiKey, location: `${origin}${path}${withoutMessage(search)}` };
}

/** Whether somebody arrives with a message. */
export const bringsMessage = (search: string): boolean => new URLSearchParams(search).has(parameter);

const deleteSpent = statement<{ id: string }>(`
  delete from spent_app_connects where id in (
    select id from spent_app_connects where expires_at < now() limit 1000 for update skip locked
  )
  returning id`);

/** Deletes what messages leave behind, once they have ended. Every replica may run it at any time. */
export async function deleteSpentMessages({ database }: Pick<Services, "database">): Promise<void> {
  await database.exhaust(deleteSpent);
}
