import { type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { json, type TransportError } from "../http/responses.js";
import { refuseRoute as refuseRouteOfPages } from "../pages/index.js";
import { send, type ContextOf, type Http } from "../http/exchange.js";
import type { Area } from "./engine/area.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import { type DescribedArea, openApiOf } from "./engine/openapi/openapi.js";
import { Endpoint, respondWith } from "./engine/respond.js";
import type { Handler, Routes } from "../http/routes.js";
import { streamWith } from "./engine/stream.js";
import applications from "./applications.js";
import appearance from "./appearance.js";
import authorization from "./authorization.js";
import connectionLogs from "./connection-logs.js";
import externalAuth from "./external-auth.js";
import groups from "./groups.js";
import licenses from "./licenses.js";
import signIn from "./sign-in.js";
import notifications from "./notifications.js";
import { pageWith } from "./engine/page.js";
import oauth2Apps from "./oauth2/apps.js";
import oauth2Grants from "./oauth2/grants.js";
import oauth2Tokens from "./oauth2/tokens.js";
import discovery from "./oauth2/discovery.js";
import registration from "./oauth2/registration.js";
import { redirectWith } from "./engine/redirect.js";
import oauth2Authorization from "./oauth2/authorization.js";
import { oauthDialect } from "./oauth2/dialect.js";
import prebuilds from "./prebuilds.js";
import quietHours from "./quiet-hours.js";
import userSecrets from "./user-secrets.js";
import workspaceProxies from "./workspace-proxies.js";

/** All areas of the REST contract. */
export const areas: readonly Area[] = [
  signIn,
  authorization,
  appearance,
  connectionLogs,
  externalAuth,
  groups,
  licenses,
  notifications,
  oauth2Tokens,
  prebuilds,
  quietHours,
  userSecrets,
  applications,
  oauth2Apps,
  oauth2Grants,
  workspaceProxies,
  oauth2Authorization,
  discovery,
  registration,
];

/** Registers a route for each row of each area, and `/openapi.json`. Throws if a row or an operation is invalid. */
export function routeRows(routes: Routes, services: Services, schema: GraphQLSchema, contextOf: ContextOf): void {
  const described: DescribedArea[] = [];
  const taken = new Set<string>();
  for (const { name, description, rows, dialect, pages } of areas) {
    const operations = storedOperations(schema, `${pages ? "pages" : "rest"}/${name}`);
    const shown = pages?.((operation) => operations.get(operation)!);
    const unused = new Set(pages ? [] : operations.keys());
    const endpoints: Endpoint[] = [];
    for (const row of rows) {
      const [method, path, operationName] = row;
      const operation = operations.get(operationName);
      if (!operation) throw new Error(`${method} ${path}: ${name}.graphql has no operation ${operationName}.`);
      const place = `${method} ${path.replace(/:\w+/g, ":")}`;
      if (taken.has(place)) throw new Error(`${method} ${path} is declared twice.`);
      taken.add(place);
      unused.delete(operationName);
      const endpoint = new Endpoint(services, schema, contextOf, row, operation, dialect);
      endpoints.push(endpoint);
      const page = shown?.[operationName];
      const handler = page ? pageWith(services, endpoint, page) : handlerOf(services, endpoint);
      // `/oauth2` has no routes where the deployment is no authorization server.
      if (dialect !== oauthDialect || services.config.oauth2Enabled) routes.register(path, [method], handler);
    }
    if (unused.size > 0) throw new Error(`${name}.graphql: no row uses ${[...unused].join(", ")}.`);
    described.push({ name, description, endpoints });
  }
  const body = JSON.stringify(openApiOf(described, services.config.accessUrl));
  routes.register("/openapi.json", ["GET"], (http) => send(http, { status: 200, headers: json, body }));
}

/** Responds to an unknown route as its part of the server does: `/oauth2` as the protocol, except to browsers. */
export function refuseRoute(http: Http, failure: TransportError): void {
  const speaksOAuth = http.path.startsWith("/oauth2/") && http.accepts("json", "html") !== "html";
  if (speaksOAuth) send(http, oauthDialect.transportFailure(failure));
  else refuseRouteOfPages(http, failure);
}

/** Returns the handler of a row: stream, redirect, or a single response. */
function handlerOf(services: Services, endpoint: Endpoint): Handler {
  if (endpoint.operation.kind === OperationTypeNode.SUBSCRIPTION) return streamWith(services, endpoint);
  return endpoint.row[4]?.redirects ? redirectWith(services, endpoint) : respondWith(endpoint);
}
