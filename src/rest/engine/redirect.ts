import type { Services } from "../../domain/kernel/context.js";
import { send, type Http } from "../../http/exchange.js";
import { failBrowsing } from "./page.js";
import { step } from "./shapes.js";
import type { Endpoint } from "./respond.js";

/** Responds with a redirect to the URL in the operation's body. Browsers without a session go to the sign-in page first. */
export function redirectWith(services: Services, endpoint: Endpoint): (http: Http) => Promise<void> {
  const [, , , status] = endpoint.row;
  const { from } = endpoint.result.body!;

  return (http) =>
    endpoint.run(
      http,
      (data) => {
        const location = from.reduce<unknown>(step, data) as string;
        send(http, { status, headers: { Location: location }, body: "" });
      },
      (error, failure) => failBrowsing(services, http, error, failure),
    );
}
