import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { programFile } from "../runtime/program-files.js";
import { type Html, html } from "./html.js";

export interface Page {
  title: string;
  main: Html;
  /** Links to the pages beside it. */
  navigation?: Html;
  /** The path of the script of a page that works without it, too, but for what browsers do by scripts alone. */
  script?: string;
}

/** How the pages of a deployment look. */
export interface Brand {
  name: string;
  /** Empty for the built-in logo. */
  logoUrl: string;
  /** Messages above all pages. */
  banners: readonly string[];
}

export const builtInBrand: Brand = { name: "Steward", logoUrl: "", banners: [] };

/** A file of this folder, as text. */
export const pageFile = (name: string): string => readFileSync(programFile(`pages/${name}`), "utf8");

/** A file of a package, by its path from a module of it. The build copies those that pages name: see tools/build.mjs. */
export const fileOfPackage = (module: string, file: string): URL =>
  import.meta.url.endsWith(".ts")
    ? new URL(file, import.meta.resolve(module))
    : programFile(`explorer/${basename(file)}`);

/** The colors of every page, light and dark. */
export const colors = pageFile("colors.css");

/** The style of the pages without scripts. */
export const style = colors + pageFile("style.css") + pageFile("account.css");

/** A short hash of contents, for the paths of files that browsers cache for good. */
export const fingerprint = (...texts: string[]): string =>
  createHash("sha256").update(texts.join("\0")).digest("hex").slice(0, 16);

export const stylePath = `/assets/pages-${fingerprint(style)}.css`;

/** The logo: a key. */
const mark = (paper: string, key: string): Html =>
  html`<svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">
    <rect width="24" height="24" rx="6" fill="${paper}" />
    <path
      d="M12.2 12H19M15.6 12v2.6M19 12v3.2M12.2 12a3.4 3.4 0 1 1-6.8 0 3.4 3.4 0 0 1 6.8 0Z"
      fill="none"
      stroke="${key}"
      stroke-width="2"
      stroke-linecap="round"
    />
  </svg>`;

export const logo = mark("var(--accent)", "var(--on-accent)");
/** A stand-alone SVG needs its namespace. */
const image = mark("#1d5fbf", "#ffffff").text.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
export const icon = `data:image/svg+xml,${encodeURIComponent(image)}`;

/** The content of a page, with the bar and the messages above it. */
export const bodyOf = ({ title, main, navigation }: Page, { name, logoUrl, banners }: Brand): Html =>
  html`<header>
      <a href="/">${logoUrl ? html`<img src="${logoUrl}" alt="" />` : logo}<bdi>${name}</bdi></a>
    </header>
    ${banners.map((message) => html`<p class="banner">${message}</p>`)} ${navigation}
    <main>
      <h1>${title}</h1>
      ${main}
    </main>`;

/** The document around the content of a page. */
export const documentOf = (page: Page, brand: Brand): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${page.title} · ${brand.name}</title>
        <link rel="icon" href="${icon}" />
        <link rel="stylesheet" href="${stylePath}" />
        ${page.script === undefined ? undefined : html`<script src="${page.script}" defer></script>`}
      </head>
      <body>
        ${bodyOf(page, brand)}
      </body>
    </html> `;

/** An error message, announced by screen readers. */
export const alarm = (message: string | undefined): Html | undefined =>
  message === undefined ? undefined : html`<p class="alarm" role="alert">${message}</p>`;

/** A message of success. */
export const notice = (message: string): Html => html`<p class="notice" role="status">${message}</p>`;
