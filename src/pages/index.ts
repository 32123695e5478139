import type { GraphQLSchema } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import type { Seals } from "../domain/deployment/signed-values.js";
import type { BrowserLinks } from "../domain/external-auth/browser-flow.js";
import type { ProviderLogouts } from "../domain/sign-in/provider-logouts.js";
import type { SignInAttempts } from "../domain/sign-in/attempts.js";
import type { KeptCredentials } from "../domain/sign-in/kept-credentials.js";
import { skipBody } from "../http/body.js";
import { type Http, keptForGood } from "../http/exchange.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import type { Routes } from "../http/routes.js";
import { routeConsole } from "./console.js";
import { routeExplorer } from "./explorer.js";
import { externalAuthPages } from "./external-auth/external-auth.js";
import { overviewPage } from "./external-auth/overview.js";
import { healthDocs, healthDocsPath } from "./health-docs.js";
import { homePages } from "./home.js";
import { style, stylePath } from "./layout.js";
import { objectPages } from "./objects.js";
import { authorizationPages } from "./oauth2/authorization.js";
import { devicePages } from "./oauth2/device-consent.js";
import { grantPages } from "./oauth2/grants.js";
import { invitationPages, invitationPath } from "./sign-in/invitations.js";
import { loginPages } from "./sign-in/login.js";
import { forgottenPath, newPasswordPath, passcodePages } from "./sign-in/passcodes.js";
import { passwordPages } from "./sign-in/passwords.js";
import { logoutPath, providerLogouts } from "./sign-in/provider-logouts.js";
import { secondFactorPages } from "./sign-in/second-factors.js";
import { passkeyScript, passkeyScriptPath } from "./sign-in/passkeys.js";
import { providerPages } from "./sign-in/providers.js";
import { VisitorForms } from "./sign-in/visitor-forms.js";
import { keyPages } from "./tokens.js";
import { unsubscribePages } from "./unsubscribe.js";
import {
  browserErrors,
  pageErrors,
  type PageHandler,
  passwordPath,
  secondFactorPath,
  Site,
  visited,
  visitedRow,
} from "./visit.js";

/** Capabilities of the domain that only browsers need, which therefore are no operations of the schema. */
export interface BrowserServices {
  seals: Seals;
  attempts: SignInAttempts;
  keptCredentials: KeptCredentials;
  links: BrowserLinks;
  logouts: ProviderLogouts;
}

/** Adds the pages for browsers. */
export function routePages(
  routes: Routes,
  services: Services,
  schema: GraphQLSchema,
  { seals, attempts, keptCredentials, links, logouts }: BrowserServices,
): void {
  /** The operations beside a file of pages, by their names. */
  const operationsOf = (path: string) => {
    const operations = storedOperations(schema, `pages/${path}`);
    return (name: string) => operations.get(name)!;
  };
  const site = new Site(services, schema);
  const signingIn = operationsOf("sign-in/login");
  const forms = new VisitorForms(seals);
  const login = loginPages(forms, keptCredentials, signingIn);
  const passcodes = passcodePages(forms, signingIn);
  const password = passwordPages(operationsOf("sign-in/passwords"));
  const secondFactor = secondFactorPages(operationsOf("sign-in/second-factors"));
  const invitations = invitationPages(forms, operationsOf("sign-in/invitations"));
  const provider = providerPages(attempts);
  const console = routeConsole(routes, site);
  const home = homePages(console, signingIn("SignedIn"), signingIn("SignOut"), logouts);
  const keys = keyPages(operationsOf("tokens"));
  const device = devicePages(operationsOf("oauth2/device-consent"));
  const grants = grantPages(operationsOf("oauth2/grants"));
  const external = operationsOf("external-auth/external-auth");
  const externalAuth = externalAuthPages(links, external);
  const unsubscribe = unsubscribePages(operationsOf("unsubscribe"));
  const objects = objectPages(console, operationsOf("objects"));

  type PageRoute = [method: "GET" | "POST", path: string, handler: PageHandler];
  const oauth2: PageRoute[] = [
    ["GET", "/oauth2/device", device.show],
    ["POST", "/oauth2/device", device.decide],
    ["GET", "/account/applications", grants.show],
    ["POST", "/account/applications", grants.submit],
  ];
  const pages: PageRoute[] = [
    ["GET", "/", home.show],
    ["GET", "/login", login.show],
    ["POST", "/login", login.submit],
    ["POST", "/logout", home.leave],
    ["GET", forgottenPath, passcodes.ask],
    ["POST", forgottenPath, passcodes.send],
    ["GET", newPasswordPath, passcodes.choose],
    ["POST", newPasswordPath, passcodes.change],
    ["GET", invitationPath, invitations.show],
    ["POST", invitationPath, invitations.accept],
    ["GET", "/login/:provider", provider.ask],
    ["GET", "/login/:provider/callback", provider.finish],
    ["GET", passwordPath, password.show],
    ["POST", passwordPath, password.submit],
    ["GET", "/.well-known/change-password", password.find],
    ["GET", secondFactorPath, secondFactor.show],
    ["POST", secondFactorPath, secondFactor.submit],
    ["GET", healthDocsPath, healthDocs],
    ["GET", "/account/keys", keys.show],
    ["POST", "/account/keys", keys.submit],
    ...(services.config.oauth2Enabled ? oauth2 : []),
    ["GET", "/external-auth", overviewPage(external)],
    ["GET", "/external-auth/:id", externalAuth.show],
    ["POST", "/external-auth/:id", externalAuth.submit],
    ["GET", "/external-auth/:id/callback", externalAuth.callback],
    ...Object.entries(objects).map(([path, page]): PageRoute => ["GET", path, page]),
  ];
  routes.of(logoutPath).post(logoutPath, providerLogouts(services, logouts));
  const errors = pageErrors(site);
  const unsubscribePath = "/notifications/unsubscribe";
  routes.of(unsubscribePath).get(unsubscribePath, errors, visited(site, unsubscribe.show));
  // Mail programs send a form of any encoding, whose content does not matter.
  routes.of(unsubscribePath).post(unsubscribePath, errors, visited(site, unsubscribe.submit, skipBody));
  for (const [method, path, handler] of pages)
    routes.of(path).register(path, [method], [errors, visited(site, handler)]);
  console.routeSections();
  routeExplorer(routes, site, signingIn("SignedIn"));
  routes.of(stylePath).get(stylePath, (http) => sendForGood(http, "css", style));
  routes.of(passkeyScriptPath).get(passkeyScriptPath, (http) => sendForGood(http, "js", passkeyScript));
}

/** The pages that browsers get for rows of the REST contract, and where there is no route. */
export function browserPages(services: Services, schema: GraphQLSchema) {
  const site = new Site(services, schema);
  const operations = storedOperations(schema, "pages/oauth2/authorization");
  const pages = authorizationPages((name) => operations.get(name)!);
  return {
    errors: browserErrors(site),
    pages: Object.fromEntries(Object.entries(pages).map(([name, page]) => [name, visitedRow(site, page)])),
  };
}

function sendForGood(http: Http, type: string, text: string): void {
  http.type = type;
  http.set(keptForGood);
  http.body = text;
}
