import type { Services } from "../../domain/kernel/context.js";
import { translate } from "../../graphql/engine/errors.js";
import { send, type Http } from "../../http/exchange.js";
import type { HttpResponse } from "../../http/responses.js";
import { fail, type RowPage, show, signInFirst, Visit } from "../../pages/visit.js";
import type { Endpoint } from "./respond.js";

/** Responds with a page. The fields of its forms are the body; all other parameters are in the query. */
export function pageWith(services: Services, endpoint: Endpoint, page: RowPage): (http: Http) => Promise<void> {
  const { operation, binding } = endpoint;

  return async (http) => {
    try {
      if (operation.triesSecrets) await services.limits.countAddress(http.state.details);
      const visit = new Visit(services, http, await formOf(http, endpoint));
      const ctx = await visit.caller();
      // Rejects callers before the query is read.
      operation.admit(ctx);
      const query = new URLSearchParams(http.querystring);
      const variables = binding.variables({ path: http.state.params, query, headers: http.headers, body: {} });
      show(http, await page(visit, ctx, variables));
    } catch (error) {
      failBrowsing(services, http, error, () => endpoint.failure(http, error));
    }
  };
}

async function formOf({ method, req }: Http, { dialect }: Endpoint): Promise<URLSearchParams> {
  const sent = method === "POST" ? await dialect.readBody(req, dialect.bodyLimit!) : undefined;
  return new URLSearchParams(
    Object.entries(sent ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  );
}

/**
 * Responds to a failure of a request that browsers make: by the redirect that the failure asks for, by the sign-in page
 * or an error page, or for clients that do not accept pages, by `failure`.
 */
export function failBrowsing(services: Services, http: Http, error: unknown, failure: () => HttpResponse): void {
  const { code, details } = translate(error);
  if (details.redirectUri !== undefined) return show(http, { goTo: details.redirectUri, status: 302 });
  if (http.accepts("json", "html") !== "html") return send(http, failure());
  if (code === "UNAUTHENTICATED") return show(http, signInFirst(http));
  fail(services, http, error);
}
