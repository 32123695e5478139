import type { GraphQLSchema } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import type { Seals } from "../domain/deployment/seals.js";
import type { BrowserLinks } from "../domain/external-auth/browser-flow.js";
import type { SignInAttempts } from "../domain/sign-in/attempts.js";
import type { TransportError } from "../http/responses.js";
import { send, type Http } from "../http/exchange.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import type { Routes } from "../http/routes.js";
import { routeExplorer } from "./explorer.js";
import { externalAuthPages } from "./external-auth.js";
import { homePages } from "./home.js";
import { style, stylePath } from "./layout.js";
import { loginPages } from "./login.js";
import { devicePages } from "./oauth2/device-consent.js";
import { providerPages } from "./provider-login.js";
import { type PageHandler, showFailure, visited } from "./visit.js";

/** Capabilities of the domain that only browsers need, which therefore are no operations of the schema. */
export interface BrowserServices {
  seals: Seals;
  attempts: SignInAttempts;
  links: BrowserLinks;
}

/** Adds the pages for browsers. */
export function routePages(
  routes: Routes,
  services: Services,
  schema: GraphQLSchema,
  { seals, attempts, links }: BrowserServices,
): void {
  const operations = storedOperations(schema, "pages/login");
  const operation = (name: string) => operations.get(name)!;
  const login = loginPages({ seals, signedIn: operation("SignedIn"), signIn: operation("SignIn") });
  const provider = providerPages(attempts);
  const deviceOperations = storedOperations(schema, "pages/oauth2/device-consent");
  const device = devicePages((name) => deviceOperations.get(name)!);
  const home = homePages(operation("SignedIn"), operation("SignOut"));

  const external = storedOperations(schema, "pages/external-auth");
  const externalAuth = externalAuthPages(links, (name) => external.get(name)!);

  type PageRoute = [method: "GET" | "POST", path: string, handler: PageHandler];
  const devices: PageRoute[] = [
    ["GET", "/oauth2/device", device.show],
    ["POST", "/oauth2/device", device.decide],
  ];
  const pages: PageRoute[] = [
    ["GET", "/", home.show],
    ["GET", "/login", login.show],
    ["POST", "/login", login.submit],
    ["POST", "/logout", home.leave],
    ["GET", "/login/:provider", provider.ask],
    ["GET", "/login/:provider/callback", provider.finish],
    ...(services.config.oauth2Enabled ? devices : []),
    ["GET", "/external-auth/:id", externalAuth.show],
    ["POST", "/external-auth/:id", externalAuth.submit],
    ["GET", "/external-auth/:id/callback", externalAuth.callback],
  ];
  for (const [method, path, handler] of pages) routes.register(path, [method], visited(services, handler));
  routeExplorer(routes, services, operation("SignedIn"));
  routes.register(stylePath, ["GET"], sendStyle);
}

/** Responds to an unknown route: with a page to a browser, otherwise by throwing the failure. */
export function refuseRoute(http: Http, failure: TransportError): void {
  const isBrowsing = !/^\/(api|\.well-known)\//.test(http.path) && http.accepts("json", "html") === "html";
  if (!isBrowsing) throw failure;
  showFailure(http, failure);
}

const lasting = { "Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=31536000, immutable" };

const sendStyle = (http: Http) => send(http, { status: 200, headers: lasting, body: style });
