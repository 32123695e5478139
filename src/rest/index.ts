import { type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { TransportError } from "../http/errors.js";
import { type ContextOf, type Http, type Middleware, within } from "../http/exchange.js";
import { type Area, redirects, routesOf } from "./engine/area.js";
import { apiDialect, errorsIn } from "./engine/dialects.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import { type Contents, contentsOf, type DescribedArea, openApiOf } from "./engine/openapi/openapi.js";
import { Endpoint } from "./engine/endpoint.js";
import { type BrowserPages, pageWith, respondWith } from "./engine/respond.js";
import type { Routes } from "../http/routes.js";
import { streamWith } from "./engine/stream.js";
import agents from "./agents.js";
import applications from "./applications.js";
import appearance from "./appearance.js";
import audit from "./audit.js";
import authorization from "./authorization.js";
import connectionLogs from "./connection-logs.js";
import externalAuth from "./external-auth.js";
import groups from "./groups.js";
import licenses from "./licenses.js";
import signIn from "./sign-in.js";
import notifications from "./notifications.js";
import { plainRoutes } from "./plain-routes.js";
import oauth2Apps from "./oauth2/apps.js";
import oauth2Grants from "./oauth2/grants.js";
import oauth2Tokens from "./oauth2/tokens.js";
import discovery from "./oauth2/discovery.js";
import registration from "./oauth2/registration.js";
import oauth2Authorization from "./oauth2/authorization.js";
import { oauthDialect } from "./oauth2/dialect.js";
import scimContract from "./scim/contract.js";
import { scimDialect } from "./scim/dialect.js";
import { FailedRequests } from "./scim/failed-requests.js";
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
  audit,
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

/** Registers a route for each row of each area, and `/openapi.json`. Throws if a row or an operation is invalid. */
export function routeRows(
  routes: Routes,
  services: Services,
  schema: GraphQLSchema,
  contextOf: ContextOf,
  browsers: BrowserPages,
): void {
  const failed = new FailedRequests(services);
  const mount = (area: Area): DescribedArea => {
    const endpoints = endpointsOf(services, schema, contextOf, area);
    if (isServed(area, services)) for (const endpoint of endpoints) register(routes, endpoint, browsers, failed);
    return { name: area.name, description: area.description, endpoints };
  };
  const described = [...areas, ...describedProtocols].map(mount);
  protocols.forEach(mount);
  requireUnambiguous([...areas, ...describedProtocols, ...protocols]);
  if (services.config.scimEnabled) registerUnsupported(routes);
  const contents = descriptions.get(schema) ?? contentsOf(described, plainRoutes);
  descriptions.set(schema, contents);
  let body: string | undefined;
  routes.of("/openapi.json").get("/openapi.json", (http) => {
    http.type = "json";
    http.body = body ??= JSON.stringify(openApiOf(contents, services.config.accessUrl));
  });
}

/** The descriptions of the rows, which all servers of a process share. */
const descriptions = new WeakMap<GraphQLSchema, Contents>();

/** Whether the tree of an area exists. `/oauth2` has no routes where the deployment is no authorization server. */
const isServed = ({ dialect }: Area, { config }: Services): boolean =>
  (dialect !== oauthDialect || config.oauth2Enabled) && (dialect.surface !== "scim" || config.scimEnabled);

/** Makes the endpoints of an area. Throws for rows without an operation, and for operations without a row. */
function endpointsOf(services: Services, schema: GraphQLSchema, contextOf: ContextOf, area: Area): Endpoint[] {
  const { name, pages } = area;
  const operations = storedOperations(schema, `${pages ? "pages" : "rest"}/${name}`);
  const unused = new Set(pages ? [] : operations.keys());
  const endpoints = routesOf(area).map((route) => {
    const operation = operations.get(route.operation);
    if (!operation) throw new Error(`${name}.graphql has no operation ${route.operation}, which a row names.`);
    unused.delete(route.operation);
    return new Endpoint(services, schema, contextOf, route, operation);
  });
  if (unused.size > 0) throw new Error(`${name}.graphql: no row uses ${[...unused].join(", ")}.`);
  return endpoints;
}

/** Registers a row. Requests in another dialect are left to the row of another area. */
function register(
  routes: Routes,
  endpoint: Endpoint,
  { errors, pages }: BrowserPages,
  { ofRow: noteFailures }: FailedRequests,
): void {
  const { method, path, operation, dialect, isPage } = endpoint.route;
  const respond = isPage ? pageWith(endpoint, pages[operation]!) : handlerOf(endpoint);
  const isForBrowsers = isPage || redirects(endpoint.route);
  const failing = within(endpoint.errors, isForBrowsers ? within(errors, respond) : respond);
  const handle = dialect.surface === "scim" ? within(noteFailures, failing) : failing;
  const { serves = () => true } = dialect;
  for (const each of dialect.takesTrailingSlash ? [path, `${path}/`] : [path])
    routes.of(path).register(each, [method], (http, next) => (serves(http.req) ? handle(http, next) : next()));
}

/** Returns what responds to the requests of a row: with a stream, or with a single response. */
const handlerOf = (endpoint: Endpoint): Middleware =>
  endpoint.operation.kind === OperationTypeNode.SUBSCRIPTION ? streamWith(endpoint) : respondWith(endpoint);

/** Throws if a method and path is declared twice, or only for the requests in one dialect. */
function requireUnambiguous(all: readonly Area[]): void {
  const some = all.filter(({ dialect }) => dialect.serves).flatMap(placesOf);
  const whole = all.filter(({ dialect }) => !dialect.serves).flatMap(placesOf);
  const twice = whole.find((name, index) => whole.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`${twice} is declared twice.`);
  const partial = some.find((name) => !whole.includes(name));
  if (partial !== undefined) throw new Error(`${partial} serves only some requests.`);
}

/** The methods and paths of an area, whatever the parameters are called. */
const placesOf = ({ rows }: Area): string[] => rows.map(([method, path]) => `${method} ${path.replace(/:\w+/g, ":")}`);

/** Registers the endpoint of SCIM that is not supported with any method (RFC 7644 §3.11). */
function registerUnsupported(routes: Routes): void {
  routes.of("/scim/v2/Me").all(["/scim/v2/Me", "/scim/v2/Me/"], () => {
    throw new TransportError(501, "Not implemented.", "There is no alias of the authenticated subject.");
  });
}

/** Error middleware for what no route responds to: in the dialect of the part of the server, or with a page. */
export function errorsByPath(services: Services, browsers: Middleware): Middleware {
  const failed = new FailedRequests(services);
  const failingInScim = errorsIn(scimDialect, services);
  const inOAuth = errorsIn(oauthDialect, services);
  const inApi = errorsIn(apiDialect, services);
  const inScim: Middleware = async (http, next) => {
    await failingInScim(http, next);
    failed.note(http);
  };

  function errorsOf(http: Http): Middleware {
    // Koa has no path for a malformed target.
    const { url: target = "" } = http.req;
    if (/^\/scim\/v2([/?]|$)/.test(target)) return inScim;
    const isForPages = !/^\/(api|graphql|mcp|\.well-known)([/?]|$)/.test(target);
    if (isForPages && http.accepts("json", "html") === "html") return browsers;
    return /^\/oauth2([/?]|$)/.test(target) ? inOAuth : inApi;
  }

  return async (http, next) => {
    try {
      await next();
    } catch (error) {
      await errorsOf(http)(http, () => Promise.reject(error));
    }
  };
}
