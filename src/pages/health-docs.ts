// The documentation of the health checks, as a page: checks link to their sections.
import { readFile } from "node:fs/promises";
import { programFile } from "../runtime/program-files.js";
import { type Html, html } from "./html.js";
import type { PageHandler } from "./visit.js";

export const healthDocsPath = "/docs/health";

/** Renders text with code in backticks. */
const inline = (text: string): Html =>
  html`${text.split("`").map((part, nr) => (nr % 2 === 1 ? html`<code>${part}</code>` : part))}`;

const cellsOf = (row: string): string[] =>
  row
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());

function tableOf(block: string): Html {
  const [head = "", , ...rows] = block.split("\n");
  return html`<table>
    <tr>
      ${cellsOf(head).map((cell) => html`<th>${inline(cell)}</th>`)}
    </tr>
    ${rows.map(
      (row) =>
        html`<tr>
          ${cellsOf(row).map((cell) => html`<td>${inline(cell)}</td>`)}
        </tr>`,
    )}
  </table>`;
}

/** Renders the document, which has headings, paragraphs, and a table. Headings have the code of their check as their id. */
export const healthDocs: PageHandler = async () => {
  const [, ...blocks] = (await readFile(programFile("../docs/health.md"), "utf8")).trim().split(/\n{2,}/);
  return {
    title: "Health checks",
    main: html`${blocks.map((block) => {
      if (block.startsWith("|")) return tableOf(block);
      const [, title, code] = /^## (.+) \(`(\w+)`\)$/.exec(block) ?? [];
      if (title === undefined || code === undefined) return html`<p>${inline(block)}</p>`;
      return html`<h2 id="${code}">${title}</h2>`;
    })}`,
  };
};
