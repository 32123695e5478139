import type { Config } from "../runtime/config.js";
import { mayCallInside } from "./inside-addresses.js";
import { outsideFetch } from "./http.js";
import { signatureOf } from "./webhook-signatures.js";

/** A receiver of webhooks. */
export interface Webhook {
  /** Posts JSON, signed by the rules of Standard Webhooks. Rejects if there is no response. */
  post(message: { id: string; body: string; at: Date }, signal: AbortSignal): Promise<Response>;
}

/** Maximum size of a response in bytes; its content is not used. */
const bodyLimit = 64 * 1024;

/** Creates the client of the configured receiver; `undefined` if none is configured. */
export function createWebhook({
  webhookUrl: url,
  webhookSecrets,
  dispatchTimeout,
  outboundProxy: proxy,
}: Pick<Config, "webhookUrl" | "webhookSecrets" | "dispatchTimeout" | "outboundProxy">): Webhook | undefined {
  if (url === undefined) return undefined;
  // The receiver may be in the operator's own network, but never at a link-local address.
  const fetch = outsideFetch({
    proxy,
    permits: (address) => mayCallInside(address, { allowsLoopback: true, only: [] }),
    timeout: dispatchTimeout,
    bodyLimit,
  });
  return {
    post: ({ id, body, at }, signal) =>
      fetch(url, {
        method: "POST",
        redirect: "manual",
        signal,
        headers: {
          "Content-Type": "application/json",
          "User-Agent": "Steward",
          "X-Message-Id": id,
          ...signatureOf(id, body, at, webhookSecrets),
        },
        body,
      }),
  };
}
