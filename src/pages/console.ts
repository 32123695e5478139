// The console: a client of the GraphQL API that tools/build.mjs bundles into dist/console. Pages that need no script are
// in its document as well, for browsers without.
import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { routeNotFound } from "../http/errors.js";
import { type Http, keptForGood } from "../http/exchange.js";
import type { Routes } from "../http/routes.js";
import { programFile } from "../runtime/program-files.js";
import { html } from "./html.js";
import { bodyOf, builtInBrand, icon, type Page, stylePath } from "./layout.js";
import { type Outcome, type PageHandler, pageErrors, signedIn, type Site, visited } from "./visit.js";
import { consolePolicy } from "./content-security-policy.js";

/** The list of files that the build writes. */
interface Manifest {
  script: string;
  style: string;
  /** Modules that the script imports statically. */
  preloads: string[];
  files: string[];
  /** The first segments of the paths of the console. */
  sections: string[];
}

const folder = programFile("../dist/console/");
const assetPath = "/assets/console/";

export interface Console {
  /** The document of the console. Browsers without script show the page. */
  documentWith: (page: Page) => Outcome;
  /** Adds the paths of the console that have no page of their own. */
  routeSections: () => void;
}

/** Adds the files of the console. Its document is for users who are signed in. */
export function routeConsole(routes: Routes, site: Site): Console {
  const manifest = JSON.parse(readFileSync(new URL("manifest.json", folder), "utf8")) as Manifest;
  const names = new Set(manifest.files);
  routes.of(assetPath).get(`${assetPath}:file`, (http) => sendAsset(http, http.params.file!, names));
  const documentWith = (page: Page): Outcome => ({ document: documentOf(manifest, page), policy: consolePolicy });
  const show: PageHandler = signedIn(async () => documentWith(needsScript));
  const handlers = [pageErrors(site), visited(site, show)];
  const routeSections = () => {
    for (const section of manifest.sections)
      for (const path of [`/${section}`, `/${section}/:id`, `/${section}/:id/:part`])
        routes.of(path).register(path, ["GET"], handlers);
  };
  return { documentWith, routeSections };
}

const needsScript: Page = {
  title: "The console needs JavaScript",
  main: html`<p>Without it, your account is at the <a href="/">front page</a>.</p>`,
};

const documentOf = ({ script, style, preloads }: Manifest, page: Page) =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} · Steward</title>
        <link rel="icon" href="${icon}" />
        <link rel="stylesheet" href="${assetPath}${style}" />
        <script type="module" src="${assetPath}${script}"></script>
        ${preloads.map((file) => html`<link rel="modulepreload" href="${assetPath}${file}" />`)}
        <noscript><link rel="stylesheet" href="${stylePath}" /></noscript>
      </head>
      <body>
        <div id="root"></div>
        <noscript>${bodyOf(page, builtInBrand)}</noscript>
      </body>
    </html> `;

/** Encodings in which the build has compressed the files, in order of preference, by the ending of their names. */
const encodings: Record<string, string> = { br: ".br", gzip: ".gz", identity: "" };

/** Sends a file that browsers may cache for good: its name changes with its content. */
async function sendAsset(http: Http, file: string, names: ReadonlySet<string>): Promise<void> {
  if (!names.has(file)) throw routeNotFound();
  const encoding = http.acceptsEncodings(...Object.keys(encodings)) || "identity";
  http.type = extname(file);
  http.vary("Accept-Encoding");
  http.set({ ...keptForGood, ETag: `"${file}.${encoding}"` });
  http.status = 200;
  if (http.fresh) {
    http.status = 304;
    return;
  }
  if (encoding !== "identity") http.set("Content-Encoding", encoding);
  http.body = await contentOf(file + encodings[encoding]);
}

/** The files that were sent before: all files of the console are a few hundred kilobytes. */
const contents = new Map<string, Promise<Buffer>>();

function contentOf(name: string): Promise<Buffer> {
  const known = contents.get(name) ?? readFile(new URL(name, folder));
  contents.set(name, known);
  known.catch(() => contents.delete(name));
  return known;
}
