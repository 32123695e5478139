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
import applications from "./applications.js";
import appearance from "./appearance.js";
import authorization from "./authorization.js";
import connectionLogs from "./connection-logs.js";
import groups from "./groups.js";
import licenses from "./licenses.js";
import login from "./login.js";
import notifications from "./notifications.js";
import { routePages } from "./pages/index.js";
import { redirectWith } from "./pages/redirects.js";
import prebuilds from "./prebuilds.js";
import quietHours from "./quiet-hours.js";
import userSecrets from "./user-secrets.js";
import workspaceProxies from "./workspace-proxies.js";

/** Every area of the contract. */
export const areas: readonly Area[] = [
  authorization,
  login,
  appearance,
  connectionLogs,
  groups,
  licenses,
  notifications,
  prebuilds,
  quietHours,
  userSecrets,
  applications,
  workspaceProxies,
];

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
      router.register(path, [method], handlerOf(services, schema, endpoint) as never);
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

function handlerOf(services: Services, schema: GraphQLSchema, endpoint: Endpoint): (http: Http) => Promise<void> {
  if (endpoint.operation.kind === OperationTypeNode.SUBSCRIPTION) return streamWith(schema, services, endpoint);
  return endpoint.row[4]?.redirects ? redirectWith(schema, services, endpoint) : respondWith(schema, endpoint);
}

/** Refuses what no row answers: 405 for a known path, 404 for any other. */
export function notRouted(router: Router, http: Http): void {
  const { path } = router.match(http.path, http.method);
  const allowed = [...new Set(path.flatMap((layer) => layer.methods))].sort();
  throw allowed.length > 0 ? methodNotAllowed(...allowed) : new TransportError(404, "Route not found.");
}
