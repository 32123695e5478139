import type { GraphQLSchema } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { readPageKey } from "../domain/deployment/deployment.js";
import type { TransportError } from "../http/answers.js";
import { send, type Http } from "../http/exchange.js";
import { storedOperations } from "../graphql/engine/stored-operations.js";
import type { Routes } from "../http/routes.js";
import { routeExplorer } from "./explorer.js";
import { homePages } from "./home.js";
import { style, stylePath } from "./layout.js";
import { loginPages } from "./login.js";
import { providerPages } from "./provider-login.js";
import { Seals } from "./seals.js";
import { type Answer, showFailure, type Visit, visited } from "./visit.js";

/** Adds the pages for browsers. */
export function routePages(routes: Routes, services: Services, schema: GraphQLSchema): void {
  const operations = storedOperations(schema, "pages/login");
  const operation = (name: string) => operations.get(name)!;
  const seals = sealsOf();
  const login = loginPages({ seals, signedIn: operation("SignedIn"), signIn: operation("SignIn") });
  const provider = providerPages(seals);
  const home = homePages(operation("SignedIn"), operation("SignOut"));

  const pages: Array<[method: "GET" | "POST", path: string, answer: Answer]> = [
    ["GET", "/", home.show],
    ["GET", "/login", login.show],
    ["POST", "/login", login.submit],
    ["POST", "/logout", home.leave],
    ["GET", "/login/:provider", provider.ask],
    ["GET", "/login/:provider/callback", provider.finish],
  ];
  for (const [method, path, answer] of pages) routes.register(path, [method], visited(services, answer));
  routeExplorer(routes, services, operation("SignedIn"));
  routes.register(stylePath, ["GET"], sendStyle);
}

/** Shows a page to a browser that asks for a route that does not exist; other clients get the failure as JSON. */
export function refuseRoute(http: Http, failure: TransportError): void {
  const isBrowsing = !http.path.startsWith("/api/") && http.accepts("json", "html") === "html";
  if (!isBrowsing) throw failure;
  showFailure(http, failure);
}

/** The key is read when the first visitor needs it: before, there may be no database. */
function sealsOf(): (visit: Visit) => Promise<Seals> {
  let known: Seals | undefined;
  return async (visit) => (known ??= new Seals(await readPageKey(visit.nobody())));
}

const lasting = { "Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=31536000, immutable" };

const sendStyle = (http: Http) => send(http, { status: 200, headers: lasting, body: style });
