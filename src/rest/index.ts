import { Router } from "@koa/router";
import { type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Services } from "../context.js";
import { version } from "../domain/deployment.js";
import { json, methodNotAllowed, send, TransportError } from "../http/answers.js";
import type { ContextOf, Http } from "../http/baseline.js";
import type { Area } from "./engine/area.js";
import { storedOperations } from "./engine/operation.js";
import { type DescribedArea, openApiOf } from "./engine/openapi.js";
import { type Endpoint, endpointOf, respondWith } from "./engine/respond.js";
import { streamWith } from "./engine/stream.js";
import authorization from "./authorization.js";
import groups from "./groups.js";
import login from "./login.js";
import notifications from "./notifications.js";
import { routePages } from "./pages/index.js";
import { showFailure } from "./pages/visit.js";
import quietHours from "./quiet-hours.js";
import userSecrets from "./user-secrets.js";

/** Every area of the contract. */
export const areas: readonly Area[] = [authorization, login, groups, notifications, quietHours, userSecrets];

/** Puts every row of every area on a router. Throws at boot for what could not work later. */
export function restRouter(services: Services, schema: GraphQLSchema, contextOf: ContextOf): Router {
  const router = new Router({ sensitive: true, strict: true });
  const described: DescribedArea[] = [];
  const taken = new Set<string>();
  for (const { name, rows } of areas) {
    const operations = storedOperations(schema, name);
    const unused = new Set(operations.keys());
    const endpoints: Endpoint[] = [];
    for (const row of rows) {
      const [method, path, operationName] = row;
      const operation = operations.get(operationName);
      if (!operation) throw new Error(`${method} ${path}: ${name}.graphql has no operation ${operationName}.`);
      const place = `${method} ${path.replace(/:\w+/g, ":")}`;
      if (taken.has(place)) throw new Error(`${method} ${path} is there twice.`);
      taken.add(place);
      unused.delete(operationName);
      const endpoint = endpointOf(services, schema, contextOf, row, operation);
      endpoints.push(endpoint);
      const handler =
        operation.kind === OperationTypeNode.SUBSCRIPTION
          ? streamWith(schema, services, endpoint)
          : respondWith(schema, endpoint);
      router.register(path, [method], handler as never);
    }
    if (unused.size > 0) throw new Error(`${name}.graphql: no row uses ${[...unused].join(", ")}.`);
    described.push({ name, endpoints });
  }
  const description = JSON.stringify(openApiOf(schema, described, version, services.config.accessUrl));
  router.get("/openapi.json", (http) =>
    send(http as unknown as Http, { status: 200, headers: json, body: description }),
  );
  routePages(router, services, schema);
  return router;
}

/** Refuses what no row answers: 405 for a known path, 404 for any other. People who lost their way see a page. */
export function notRouted(router: Router, http: Http): void {
  const { path } = router.match(http.path, http.method);
  const allowed = [...new Set(path.flatMap((layer) => layer.methods))].sort();
  const failure = allowed.length > 0 ? methodNotAllowed(...allowed) : new TransportError(404, "Route not found.");
  const isBrowsing = !http.path.startsWith("/api/") && http.accepts("json", "html") === "html";
  if (!isBrowsing) throw failure;
  showFailure(http, failure);
}
