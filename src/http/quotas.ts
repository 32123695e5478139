import type Koa from "koa";
import type { Services } from "../domain/kernel/context.js";
import type { RequestFacts } from "../domain/kernel/request.js";
import { anonymous } from "../domain/kernel/actor.js";
import { DomainError } from "../domain/kernel/errors.js";
import { TransportError } from "./answers.js";
import type { State } from "./exchange.js";

/** The limits that a request counted under, and what is left of them (draft-ietf-httpapi-ratelimit-headers-10). */
export function quotaHeaders({ quotas }: RequestFacts): Record<string, string> {
  if (!quotas) return {};
  let [policies, left] = ["", ""];
  for (const { policy, remaining, reset } of quotas) {
    const separator = policies && ", ";
    policies += `${separator}"${policy.name}";q=${policy.limit};w=${policy.window}`;
    left += `${separator}"${policy.name}";r=${remaining};t=${reset}`;
  }
  return { "RateLimit-Policy": policies, RateLimit: left };
}

/** Where requests are counted once it is known who sends them, or what they try. */
const countedLater = /^\/(api\/v2|graphql|oauth2)(\/|$)/;

/** Counts by address what has no caller: pages, their parts, and descriptions. */
export function countVisitors({ limits }: Services): Koa.Middleware<State> {
  return (http, next) => {
    if (countedLater.test(http.path)) return next();
    try {
      limits.countCaller({ actor: anonymous, request: http.state.facts });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      throw new TransportError(429, error.message, undefined, { "Retry-After": String(error.facts.retryAfter) });
    }
    return next();
  };
}
