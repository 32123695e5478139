import type { Services } from "../domain/kernel/context.js";
import type { RequestDetails } from "../domain/kernel/request.js";
import { anonymous } from "../domain/kernel/actor.js";
import type { Middleware } from "./exchange.js";

/** Headers that state the limits a request counted against and what remains of them (draft-ietf-httpapi-ratelimit-headers-10). */
export function quotaHeaders({ quotas }: RequestDetails): Record<string, string> {
  if (!quotas) return {};
  let policies = "";
  let left = "";
  for (const { policy, remaining, reset } of quotas) {
    const separator = policies && ", ";
    policies += `${separator}"${policy.name}";q=${policy.limit};w=${policy.window}`;
    left += `${separator}"${policy.name}";r=${remaining};t=${reset}`;
  }
  return { "RateLimit-Policy": policies, RateLimit: left };
}

/** Paths whose requests are counted later, once their caller or the account they try is known. */
const countedLater = /^\/(api\/v2|graphql|oauth2|scim\/v2|mcp)(\/|$)/;

/** Counts requests without a caller by address: pages, their assets, and API descriptions. */
export const countVisitors =
  ({ limits }: Services): Middleware =>
  (http, next) => {
    if (!countedLater.test(http.path)) limits.countCaller({ actor: anonymous, request: http.state.details });
    return next();
  };
