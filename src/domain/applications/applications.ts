import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { createApplicationKey } from "./keys.js";
import { sealMessage } from "./messages.js";
import { type Target, targetOf } from "./targets.js";
import { badInput } from "../kernel/errors.js";
import { purge } from "../kernel/purge.js";
import { urlProblem } from "../kernel/text.js";

/** The query parameter that carries a message. */
export const parameter = "steward_application_connect";

/** The wildcard of application hosts, `*.apps.example.com`, with the port of the deployment; empty if there is none. */
export function applicationsHost({ config }: Context): string {
  if (config.wildcardAccessUrl === undefined) return "";
  const { port } = new URL(config.accessUrl);
  return config.wildcardAccessUrl + (port && `:${port}`);
}

export interface CreateApplicationRedirect {
  redirectUri?: string | null;
}

/**
 * Creates an application key of the caller. Returns the URL that passes it to the host of the application, in an
 * encrypted message. Throws BAD_USER_INPUT if the host of the URL is not an application host.
 */
export async function createApplicationRedirect(ctx: Context, input: CreateApplicationRedirect): Promise<string> {
  const actor = requireUser(ctx.actor);
  const url = redirectUrl(input.redirectUri);
  const target = await targetOf(ctx, url);
  if (!target) throw refused("Must be a URL at an application host.", "Invalid redirect_uri.");
  const apiKey = await createApplicationKey(ctx, actor, url.host);
  const { recipient, origin: audience } = target;
  return locationOf(url, target, await sealMessage(ctx, { recipient, audience, userId: actor.userId, apiKey }));
}

const refused = (detail: string, message?: string) => badInput([{ field: "redirectUri", detail }], message);

/** Parses the URL. Redirects are serialized from the result, since browsers may parse the text differently. */
function redirectUrl(text: string | null | undefined): URL {
  if (!text) throw refused("Is required.");
  const problem = urlProblem(text);
  if (problem) throw refused(problem);
  return new URL(text);
}

/** Returns the URL at the origin of the target, with the message instead of any other. */
const locationOf = ({ pathname, search, hash }: URL, { origin }: Target, message: string): string =>
  `${origin}${pathname}${withoutMessage(search, `${parameter}=${message}`)}${hash}`;

/** Returns a query string without messages and with the added parameters. */
export function withoutMessage(search: string, ...added: string[]): string {
  const kept = search.slice(1).split("&");
  const parts = [...kept.filter((part) => part !== "" && !new URLSearchParams(part).has(parameter)), ...added];
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/** Deletes used messages after their expiry. */
export const messagePurge = purge("spent_app_connects", { by: "expires_at" });
