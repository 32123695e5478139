import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { GraphQLSchema } from "graphql";
import type { Services } from "../domain/kernel/context.js";
import { graphqlPath } from "../graphql/engine/server.js";
import { routeNotFound } from "../http/errors.js";
import { type Http, keptForGood, type Middleware, within } from "../http/exchange.js";
import { cookieOf } from "../http/cookies.js";
import { sessionCookie } from "../http/credentials.js";
import { csrfTokenOf } from "../http/csrf.js";
import { type StoredOperation, storedOperations } from "../graphql/engine/stored-operations.js";
import type { Routes } from "../http/routes.js";
import { version } from "../runtime/program-files.js";
import { type Html, html } from "./html.js";
import { colors, fileOfPackage, fingerprint, icon, logo, pageFile } from "./layout.js";
import { ownPath, pageErrors, type PageHandler, perform, Site, type Visit, visited } from "./visit.js";
import { explorerPolicy } from "./content-security-policy.js";

const referencePath = "/docs";

/** Adds the API reference and the assets of both explorers. Everything comes from this server. */
export function routeExplorer(routes: Routes, site: Site, signedIn: StoredOperation): void {
  const page = visited(site, explorer(reference, signedIn));
  routes.of(referencePath).get(referencePath, pageErrors(site), page);
  routes.of(assetPath).get(`${assetPath}:file`, (http) => sendAsset(http, http.params.file!));
}

/** Serves GraphiQL to browsers that navigate to the GraphQL endpoint; clients of the API, which prefer JSON, go on. */
export function graphiqlPage(services: Services, schema: GraphQLSchema): Middleware {
  const show = explorer(graphiql, storedOperations(schema, "pages/sign-in/login").get("SignedIn")!);
  const site = new Site(services, schema);
  const page = visited(site, (visit) => {
    services.limits.countCaller(visit.anonymous());
    return show(visit);
  });
  const guarded = within(pageErrors(site), page);
  return (http, next) => (asksForPage(http) ? guarded(http, next) : next());
}

const asksForPage = (http: Http): boolean =>
  (http.method === "GET" || http.method === "HEAD") && http.accepts("json", "html") === "html";

interface Explorer {
  path: string;
  name: string;
  styles: string[];
  scripts: string[];
  /** The part of the page where a token is entered. */
  tokenPlace: string;
  /** The text for browsers without JavaScript. */
  withoutScript: string;
}

const graphiql: Explorer = {
  path: graphqlPath,
  name: "GraphQL",
  styles: ["graphiql.css"],
  scripts: ["graphiql.js", "start-graphiql.js"],
  tokenPlace: "Headers",
  withoutScript: "This page needs JavaScript. The schema is in schema.graphql.",
};
const reference: Explorer = {
  path: referencePath,
  name: "REST",
  styles: ["swagger-ui.css"],
  scripts: ["swagger-ui-bundle.js", "start-docs.js"],
  tokenPlace: "Authorize",
  withoutScript: "This page needs JavaScript. The same description is at /openapi.json.",
};

/** The user of the session cookie, with the CSRF token of the session. */
interface User {
  username: string;
  csrfToken: string;
}

const explorer =
  (page: Explorer, signedIn: StoredOperation): PageHandler =>
  async (visit) => ({ policy: explorerPolicy, document: documentOf(page, visit, await userOf(visit, signedIn)) });

async function userOf(visit: Visit, signedIn: StoredOperation): Promise<User | undefined> {
  const session = cookieOf(visit.http.req, sessionCookie);
  const ctx = await visit.context();
  if (session === undefined || ctx.actor.kind !== "user") return undefined;
  const { me } = await perform<{ me: { username: string } }>(signedIn, ctx);
  return { username: me.username, csrfToken: csrfTokenOf(session) };
}

const documentOf = (page: Explorer, visit: Visit, user: User | undefined): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${page.name} · Steward</title>
        ${user && html`<meta name="csrf-token" content="${user.csrfToken}" />`}
        <link rel="icon" href="${icon}" />
        ${[...page.styles, "explorer.css"].map((file) => html`<link rel="stylesheet" href="${assetPath}${file}" />`)}
        ${page.scripts.map((file) => html`<script src="${assetPath}${file}" defer></script>`)}
      </head>
      <body>
        <header id="bar">
          <a class="home" href="/">${logo}Steward</a>
          <nav aria-label="Interfaces">${[graphiql, reference].map((each) => linkTo(each, page))}</nav>
          <p>${user ? signedInAs(user, page) : signedOut(visit, page)}</p>
        </header>
        <div id="root"></div>
        <noscript>${page.withoutScript}</noscript>
      </body>
    </html> `;

const linkTo = ({ path, name }: Explorer, current: Explorer): Html =>
  html`<a href="${path}" ${path === current.path ? html`aria-current="page"` : undefined}>${name}</a>`;

const signedInAs = ({ username }: User, { tokenPlace }: Explorer): Html =>
  html`Signed in as <a href="/">${username}</a>.
    <span class="hint">A token under <strong>${tokenPlace}</strong> takes precedence.</span>`;

function signedOut({ http }: Visit, { tokenPlace }: Explorer): Html {
  const query = new URLSearchParams({ return_to: ownPath(http.originalUrl) }).toString();
  return html`Not signed in. <a href="/login?${query}">Sign in</a>, or enter a token under
    <strong>${tokenPlace}</strong>.`;
}

type Load = () => Promise<string>;

/** A part of GraphiQL, as its package exports it. Loaded at the first request, because of its size. */
const graphiqlPart =
  (name: "js" | "css" | "editorWorkerService" | "jsonWorker" | "graphqlWorker"): Load =>
  async () => {
    const bundle = fileOfPackage("@graphql-yoga/render-graphiql", "graphiql.js");
    return ((await import(bundle.href)) as Record<typeof name, string>)[name];
  };

const swaggerPart =
  (file: string): Load =>
  () =>
    readFile(fileOfPackage("swagger-ui-dist/package.json", file), "utf8");

const ownFiles: Record<string, string> = {
  "explorer.css": colors + pageFile("explorer.css"),
  "start-graphiql.js": pageFile("start-graphiql.js"),
  "start-docs.js": pageFile("start-docs.js"),
};

const assets: Record<string, Load> = {
  "graphiql.js": graphiqlPart("js"),
  "graphiql.css": graphiqlPart("css"),
  "editor-worker.js": graphiqlPart("editorWorkerService"),
  "json-worker.js": graphiqlPart("jsonWorker"),
  "graphql-worker.js": graphiqlPart("graphqlWorker"),
  "swagger-ui.css": swaggerPart("swagger-ui.css"),
  "swagger-ui-bundle.js": swaggerPart("swagger-ui-bundle.js"),
  ...Object.fromEntries(Object.entries(ownFiles).map(([file, text]) => [file, () => Promise.resolve(text)])),
};

/** Changes with the version and with each of our own files, so that browsers do not use cached files of another version. */
const assetPath = `/assets/${fingerprint(version, ...Object.values(ownFiles))}/`;

const compress = promisify(gzip);
const compressed = new Map<string, Promise<Buffer>>();

/** Sends a file that browsers may cache for good: its path changes with its content. */
async function sendAsset(http: Http, file: string): Promise<void> {
  const load = Object.hasOwn(assets, file) ? assets[file] : undefined;
  if (!load) throw routeNotFound();
  if (!compressed.has(file))
    compressed.set(
      file,
      load().then((text) => compress(text)),
    );
  http.type = extname(file);
  http.set({ ...keptForGood, "Content-Encoding": "gzip" });
  http.body = (await compressed.get(file))!;
}
