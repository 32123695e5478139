import { urlProblem } from "../kernel/text.js";

/** The base of the AgentAPI paths of an app, without a slash at the end; `undefined` if the app has no such URL. */
export function appBase(url: string | null): string | undefined {
  if (!url || urlProblem(url) !== undefined) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname.replace(/\/+$/, "");
}
