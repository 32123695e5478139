import type { GraphQLSchema } from "graphql";
import type { Services } from "../../domain/kernel/context.js";
import { translate } from "../../graphql/engine/errors.js";
import type { Variables } from "../../graphql/engine/variables.js";
import { send, type Http } from "../../http/exchange.js";
import { answerOf } from "./render.js";
import type { Endpoint } from "./respond.js";
import { ownPath } from "../../pages/return-to.js";
import { fail, show } from "../../pages/visit.js";

/** Answers a row's requests by sending whoever asks on to the address that its body is. People sign in first. */
export function redirectWith(
  schema: GraphQLSchema,
  services: Services,
  endpoint: Endpoint,
): (http: Http) => Promise<void> {
  const { row, operation } = endpoint;
  const [, , , status] = row;
  const { from } = answerOf(schema, operation)!;

  return async (http) => {
    let variables: Variables | undefined;
    try {
      const admitted = await endpoint.admit(http);
      ({ variables } = admitted);
      const { data, errors } = await operation.run(admitted.ctx, variables);
      if (errors) throw errors[0];
      const location = from.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], data) as string;
      send(http, { status, headers: { Location: location }, body: "" });
    } catch (error) {
      if (http.accepts("json", "html") !== "html") return send(http, endpoint.fail(http, error, variables));
      if (translate(error).code !== "UNAUTHENTICATED") return fail(services, http, error);
      const query = new URLSearchParams({ return_to: ownPath(http.originalUrl) });
      show(http, { goTo: `/login?${query.toString()}` });
    }
  };
}
