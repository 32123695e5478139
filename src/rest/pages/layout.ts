import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Html, html } from "./html.js";

export interface Page {
  title: string;
  main: Html;
}

/** The look of all pages. */
export const style = readFileSync(new URL("style.css", import.meta.url), "utf8");

/** Named by its content, so that browsers may keep it. */
export const stylePath = `/assets/pages-${createHash("sha256").update(style).digest("hex").slice(0, 16)}.css`;

/** The whole document around what a page says. */
export const documentOf = ({ title, main }: Page): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Steward</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${stylePath}" />
      </head>
      <body>
        <header><a href="/">Steward</a></header>
        <main>
          <h1>${title}</h1>
          ${main}
        </main>
      </body>
    </html> `;

/** A message that tells what went wrong, read out by screen readers. */
export const alarm = (message: string | undefined): Html | undefined =>
  message === undefined ? undefined : html`<p class="alarm" role="alert">${message}</p>`;
