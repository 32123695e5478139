import { type Html, html, type Part } from "./html.js";

/** An object in a list of the account. */
export interface Item {
  title: Part;
  badge?: Part;
  /** Properties, each on a line of its own. */
  lines: Part[];
  /** Links and forms. */
  actions: Part;
}

/** A list of objects with what the user can do to each. */
export const listOf = (items: readonly Item[]): Html =>
  html`<ul class="items">
    ${items.map(
      ({ title, badge, lines, actions }) =>
        html`<li>
          <div>
            <div class="title">${title} ${badge}</div>
            ${lines.map((line) => html`<div>${line}</div>`)}
          </div>
          <div class="actions">${actions}</div>
        </li>`,
    )}
  </ul>`;
