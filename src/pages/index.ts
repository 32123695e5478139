import type { GraphQLSchema } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import type { Seals } from "../domain/deployment/seals.js";
import type { BrowserLinks } from "../domain/external-auth/browser-flow.js";
import type { SignInAttempts } from "../domain/sign-in/attempts.js";
import type { TransportError } from "../http/responses.js";
import { send, type Http } from "../http/exchange.js";
import { skipBody } from "../http/form.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import type { Routes } from "../http/routes.js";
import { routeExplorer } from "./explorer.js";
import { externalAuthPages } from "./external-auth.js";
import { homePages } from "./home.js";
import { style, stylePath } from "./layout.js";
import { loginPages } from "./login.js";
import { objectPages } from "./objects.js";
import { devicePages } from "./oauth2/device-consent.js";
import { providerPages } from "./provider-login.js";
import { unsubscribePages } from "./unsubscribe.js";
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

  const unsubscribing = storedOperations(schema, "pages/unsubscribe");
  const unsubscribe = unsubscribePages((name) => unsubscribing.get(name)!);

  const describing = storedOperations(schema, "pages/objects");
  const objects = objectPages((name) => describing.get(name)!);

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
    ...Object.entries(objects).map(([path, page]): PageRoute => ["GET", path, page]),
  ];
  routes.register("/notifications/unsubscribe", ["GET"], visited(services, unsubscribe.show));
  // Mail programs send a form of any encoding, whose content does not matter.
  routes.register("/notifications/unsubscribe", ["POST"], visited(services, unsubscribe.submit, skipBody));
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
