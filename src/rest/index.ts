import { type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { type HttpResponse, json, TransportError, transportFailure } from "../http/responses.js";
import { refuseRoute as refuseRouteOfPages } from "../pages/index.js";
import { send, type ContextOf, type Http } from "../http/exchange.js";
import type { Area, Row } from "./engine/area.js";
import { type StoredOperation, storedOperations } from "../graphql/engine/stored-operations.js";
import { type DescribedArea, openApiOf } from "./engine/openapi/openapi.js";
import { Endpoint, respondWith } from "./engine/respond.js";
import type { Handler, Routes } from "../http/routes.js";
import { streamWith } from "./engine/stream.js";
import agents from "./agents.js";
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
import { plainRoutes } from "./plain-routes.js";
import oauth2Apps from "./oauth2/apps.js";
import oauth2Grants from "./oauth2/grants.js";
import oauth2Tokens from "./oauth2/tokens.js";
import discovery from "./oauth2/discovery.js";
import registration from "./oauth2/registration.js";
import { redirectWith } from "./engine/redirect.js";
import oauth2Authorization from "./oauth2/authorization.js";
import { oauthDialect } from "./oauth2/dialect.js";
import scimContract from "./scim/contract.js";
import { scimDialect } from "./scim/dialect.js";
import scimDiscovery from "./scim/discovery.js";
import scim from "./scim/scim.js";
import prebuilds from "./prebuilds.js";
import provisioners from "./provisioners.js";
import quietHours from "./quiet-hours.js";
import tasks from "./tasks.js";
import templates from "./templates.js";
import userSecrets from "./user-secrets.js";
import workspaceProxies from "./workspace-proxies.js";

/** All areas of the REST contract. */
export const areas: readonly Area[] = [
  signIn,
  agents,
  authorization,
  appearance,
  connectionLogs,
  externalAuth,
  groups,
  licenses,
  notifications,
  oauth2Tokens,
  prebuilds,
  provisioners,
  quietHours,
  tasks,
  templates,
  userSecrets,
  applications,
  oauth2Apps,
  oauth2Grants,
  workspaceProxies,
  oauth2Authorization,
  discovery,
  registration,
];

/** Areas of SCIM, which decide about requests in this order. `/openapi.json` leaves out what the service describes itself. */
export const describedProtocols: readonly Area[] = [scimDiscovery, scimContract];
const protocols: readonly Area[] = [scim];

/** What serves a method and path: rows of several areas, if all but the last serve only some requests. */
interface Place {
  path: string;
  method: string;
  trailingSlash: boolean;
  choices: Array<{ serves?: Area["serves"]; handler: Handler }>;
}

/** Registers a route for each row of each area, and `/openapi.json`. Throws if a row or an operation is invalid. */
export function routeRows(routes: Routes, services: Services, schema: GraphQLSchema, contextOf: ContextOf): void {
  const places = new Map<string, Place>();
  const mount = (area: Area): DescribedArea => {
    const operations = storedOperations(schema, `${area.pages ? "pages" : "rest"}/${area.name}`);
    const endpoints = endpointsOf(
      area,
      operations,
      (row, operation) => new Endpoint(services, schema, contextOf, row, operation, area.dialect),
    );
    const shown = area.pages?.((operation) => operations.get(operation)!);
    for (const endpoint of endpoints) {
      const page = shown?.[endpoint.operation.name];
      const handler = page ? pageWith(services, endpoint, page) : handlerOf(services, endpoint);
      if (isServed(area, services)) addChoice(places, area, endpoint, handler);
    }
    return { name: area.name, description: area.description, endpoints };
  };
  const described = [...areas, ...describedProtocols].map(mount);
  protocols.forEach(mount);
  for (const place of places.values()) register(routes, place);
  if (services.config.scimEnabled) registerUnsupported(routes);
  const body = JSON.stringify(openApiOf(described, services.config.accessUrl, plainRoutes));
  routes.register("/openapi.json", ["GET"], (http) => send(http, { status: 200, headers: json, body }));
}

/** Whether the tree of an area exists. `/oauth2` has no routes where the deployment is no authorization server. */
const isServed = ({ dialect }: Area, { config }: Services): boolean =>
  (dialect !== oauthDialect || config.oauth2Enabled) && (dialect.surface !== "scim" || config.scimEnabled);

/** Makes the endpoints of an area. Throws for rows without an operation, and for operations without a row. */
function endpointsOf(
  { name, rows, pages }: Area,
  operations: ReadonlyMap<string, StoredOperation>,
  make: (row: Row, operation: StoredOperation) => Endpoint,
): Endpoint[] {
  const unused = new Set(pages ? [] : operations.keys());
  const endpoints = rows.map((row) => {
    const [method, path, operationName] = row;
    const operation = operations.get(operationName);
    if (!operation) throw new Error(`${method} ${path}: ${name}.graphql has no operation ${operationName}.`);
    unused.delete(operationName);
    return make(row, operation);
  });
  if (unused.size > 0) throw new Error(`${name}.graphql: no row uses ${[...unused].join(", ")}.`);
  return endpoints;
}

function addChoice(
  places: Map<string, Place>,
  { serves, trailingSlash = false }: Area,
  { row }: Endpoint,
  handler: Handler,
): void {
  const [method, path] = row;
  const name = `${method} ${path.replace(/:\w+/g, ":")}`;
  const place: Place = places.get(name) ?? { path, method, trailingSlash, choices: [] };
  const former = place.choices.at(-1);
  if (former && !former.serves) throw new Error(`${method} ${path} is declared twice.`);
  place.choices.push({ handler, ...(serves && { serves }) });
  places.set(name, place);
}

function register(routes: Routes, { path, method, trailingSlash, choices }: Place): void {
  const last = choices.at(-1)!;
  if (last.serves) throw new Error(`${method} ${path} serves only some requests.`);
  const choose: Handler = (http) => (choices.find(({ serves }) => serves?.(http.req)) ?? last).handler(http);
  const handler = choices.length > 1 ? choose : last.handler;
  for (const each of trailingSlash ? [path, `${path}/`] : [path]) routes.register(each, [method], handler);
}

/** Registers the endpoint of SCIM that is not supported with any method (RFC 7644 §3.11). */
function registerUnsupported(routes: Routes): void {
  const failure = new TransportError(501, "Not implemented.", "There is no alias of the authenticated subject.");
  for (const path of ["/scim/v2/Me", "/scim/v2/Me/"])
    routes.register(path, ["GET", "POST", "PUT", "PATCH", "DELETE"], (http) =>
      send(http, scimDialect.transportFailure(failure)),
    );
}

/** Spells a failure of a request that has not reached a route, or no response in time, as its part of the server does. */
export function spellFailure(path: string, failure: TransportError): HttpResponse {
  if (/^\/scim\/v2(\/|$)/.test(path)) return scimDialect.transportFailure(failure);
  return path.startsWith("/oauth2/") ? oauthDialect.transportFailure(failure) : transportFailure(failure);
}

/** Responds to an unknown route as its part of the server does: protocols in their dialect, `/oauth2` not to browsers. */
export function refuseRoute(http: Http, failure: TransportError): void {
  if (/^\/scim\/v2(\/|$)/.test(http.path)) return send(http, scimDialect.transportFailure(failure));
  const speaksOAuth = http.path.startsWith("/oauth2/") && http.accepts("json", "html") !== "html";
  if (speaksOAuth) send(http, oauthDialect.transportFailure(failure));
  else refuseRouteOfPages(http, failure);
}

/** Returns the handler of a row: stream, redirect, or a single response. */
function handlerOf(services: Services, endpoint: Endpoint): Handler {
  if (endpoint.operation.kind === OperationTypeNode.SUBSCRIPTION) return streamWith(services, endpoint);
  return endpoint.row[4]?.redirects ? redirectWith(services, endpoint) : respondWith(endpoint);
}
