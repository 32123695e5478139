import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { version } from "../../domain/deployment.js";
import { graphqlPath } from "../../graphql/server.js";
import { send, TransportError } from "../../http/answers.js";
import type { Http } from "../../http/baseline.js";
import type { Routes } from "../engine/routes.js";

/** Where people look around: the API reference, and the parts of both pages. Everything comes from this server. */
export function routeExplorer(routes: Routes): void {
  routes.register("/docs", ["GET"], (http) => sendPage(http, reference));
  routes.register(`${assetPath}:file`, ["GET"], (http) => sendAsset(http, http.state.params.file!));
}

/** Shows GraphiQL to a browser that navigates here; it keeps its query in the address. Other clients want JSON. */
export function showsGraphiql(http: Http): boolean {
  const isPage = (http.method === "GET" || http.method === "HEAD") && http.accepts("json", "html") === "html";
  if (isPage) sendPage(http, graphiql);
  return isPage;
}

const assetPath = `/assets/${version}/`;

interface Page {
  title: string;
  styles: string[];
  scripts: string[];
}

const graphiql: Page = {
  title: "Steward GraphQL",
  styles: ["graphiql.css"],
  scripts: ["graphiql.js", "graphiql-start.js"],
};
const reference: Page = {
  title: "Steward REST",
  styles: ["swagger-ui.css"],
  scripts: ["swagger-ui-bundle.js", "docs-start.js"],
};

/** Scripts of our own only. Both tools write styles into elements; the editor starts its workers from blobs. */
const policy = [
  "default-src 'none'",
  "script-src 'self' blob:",
  "worker-src 'self' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function sendPage(http: Http, { title, styles, scripts }: Page): void {
  const links = styles.map((file) => `<link rel="stylesheet" href="${assetPath}${file}">`);
  const tags = scripts.map((file) => `<script src="${assetPath}${file}" defer></script>`);
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
${[...links, ...tags].join("\n")}
<style>html, body, #root { height: 100%; margin: 0 }</style>
</head>
<body>
<div id="root"></div>
<noscript>This page needs JavaScript. The same is described in ${title.endsWith("REST") ? "/openapi.json" : "schema.graphql"}.</noscript>
</body>
</html>
`;
  send(http, {
    status: 200,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "Cache-Control": "no-cache",
    },
    body,
  });
}

const types: Record<string, string> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

type Load = () => Promise<string>;

/** The parts of GraphiQL, as its package exports them. Read at the first visit only: they are large. */
const graphiqlPart =
  (name: "js" | "css" | "editorWorkerService" | "jsonWorker" | "graphqlWorker"): Load =>
  async () => {
    const bundle = new URL("./graphiql.js", import.meta.resolve("@graphql-yoga/render-graphiql"));
    return ((await import(bundle.href)) as Record<typeof name, string>)[name];
  };

const swaggerPart =
  (file: string): Load =>
  () =>
    readFile(new URL(file, import.meta.resolve("swagger-ui-dist/package.json")), "utf8");

// Subscriptions take the token from the headers, too. It stays on the page: nothing of it is stored.
const startGraphiql = `
let headers = JSON.stringify({ "Service-Session-Token": "" }, null, 2);
self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (module, label) =>
    "${assetPath}" + ({ json: "json-worker.js", graphql: "graphql-worker.js" }[label] ?? "editor-worker.js"),
};
YogaGraphiQL.renderYogaGraphiQL(document.querySelector("#root"), {
  endpoint: "${graphqlPath}",
  title: "Steward GraphQL",
  logo: "",
  subscriptionsProtocol: "GRAPHQL_WS",
  headers,
  shouldPersistHeaders: false,
  onEditHeaders: (text) => {
    headers = text;
  },
  connectionParams: () => ({ sessionToken: JSON.parse(headers)["Service-Session-Token"] }),
  defaultQuery: "# A session token goes into the headers below.\\n\\n{\\n  serverInfo {\\n    version\\n    accessUrl\\n  }\\n}\\n",
});
`;

// Tries requests out where the page came from, which may not be the address that others are told.
const startReference = `
const show = (description) =>
  SwaggerUIBundle({
    spec: { ...description, servers: [{ url: location.origin }] },
    dom_id: "#root",
    deepLinking: true,
    validatorUrl: null,
  });
fetch("/openapi.json").then((answer) => answer.json()).then(show);
`;

const assets: Record<string, Load> = {
  "graphiql.js": graphiqlPart("js"),
  "graphiql.css": graphiqlPart("css"),
  "editor-worker.js": graphiqlPart("editorWorkerService"),
  "json-worker.js": graphiqlPart("jsonWorker"),
  "graphql-worker.js": graphiqlPart("graphqlWorker"),
  "graphiql-start.js": () => Promise.resolve(startGraphiql),
  "swagger-ui.css": swaggerPart("swagger-ui.css"),
  "swagger-ui-bundle.js": swaggerPart("swagger-ui-bundle.js"),
  "docs-start.js": () => Promise.resolve(startReference),
};

const compress = promisify(gzip);
const compressed = new Map<string, Promise<Buffer>>();

/** Files of this version never change: browsers keep them. */
async function sendAsset(http: Http, file: string): Promise<void> {
  const load = Object.hasOwn(assets, file) ? assets[file] : undefined;
  if (!load) throw new TransportError(404, "Route not found.");
  if (!compressed.has(file))
    compressed.set(
      file,
      load().then((text) => compress(text)),
    );
  const headers = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Encoding": "gzip",
    "Content-Type": types[file.split(".").at(-1)!]!,
  };
  send(http, { status: 200, headers, body: (await compressed.get(file))! });
}
