import { type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { version } from "../domain/deployment/deployment.js";
import { json } from "../http/answers.js";
import { send, type ContextOf } from "../http/exchange.js";
import type { Area } from "./engine/area.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import { type DescribedArea, openApiOf } from "./engine/openapi.js";
import { type Endpoint, endpointOf, respondWith } from "./engine/respond.js";
import type { Handler, Routes } from "../http/routes.js";
import { streamWith } from "./engine/stream.js";
import applications from "./applications.js";
import appearance from "./appearance.js";
import authorization from "./authorization.js";
import connectionLogs from "./connection-logs.js";
import groups from "./groups.js";
import licenses from "./licenses.js";
import signIn from "./sign-in.js";
import notifications from "./notifications.js";
import { redirectWith } from "./engine/redirect.js";
import prebuilds from "./prebuilds.js";
import quietHours from "./quiet-hours.js";
import userSecrets from "./user-secrets.js";
import workspaceProxies from "./workspace-proxies.js";

/** Every area of the contract. */
export const areas: readonly Area[] = [
  authorization,
  signIn,
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

/** Adds every row of every area and the description of all of them. Throws at boot for what could not work later. */
export function routeRows(routes: Routes, services: Services, schema: GraphQLSchema, contextOf: ContextOf): void {
  const described: DescribedArea[] = [];
  const taken = new Set<string>();
  for (const { name, rows } of areas) {
    const operations = storedOperations(schema, `rest/${name}`);
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
      routes.register(path, [method], handlerOf(services, schema, endpoint));
    }
    if (unused.size > 0) throw new Error(`${name}.graphql: no row uses ${[...unused].join(", ")}.`);
    described.push({ name, endpoints });
  }
  const description = JSON.stringify(openApiOf(schema, described, version, services.config.accessUrl));
  routes.register("/openapi.json", ["GET"], (http) => send(http, { status: 200, headers: json, body: description }));
}

/** What answers the requests of a row. */
function handlerOf(services: Services, schema: GraphQLSchema, endpoint: Endpoint): Handler {
  if (endpoint.operation.kind === OperationTypeNode.SUBSCRIPTION) return streamWith(schema, services, endpoint);
  return endpoint.row[4]?.redirects ? redirectWith(schema, services, endpoint) : respondWith(schema, endpoint);
}
