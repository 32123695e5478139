import { databaseTime, instantOf } from "../runtime/clock.js";
import { type Html, html, type Part } from "./html.js";
import type { StatusPage, Visit } from "./visit.js";

/** The pages of an account. */
const pages: ReadonlyArray<{ path: string; name: string; isOffered?: (visit: Visit) => boolean }> = [
  { path: "/", name: "Overview" },
  { path: "/account/password", name: "Password" },
  {
    path: "/account/second-factor",
    name: "Second factor",
    isOffered: ({ services: { config }, user }) =>
      config.passwordAuth &&
      (config.secondFactors !== "off" || (user?.actor.kind === "user" && !!user.actor.isOfferedFactor)),
  },
  { path: "/account/keys", name: "Sessions and keys" },
  { path: "/external-auth", name: "Linked accounts" },
  { path: "/account/applications", name: "Applications", isOffered: ({ services }) => services.config.oauth2Enabled },
];

/** Adds the navigation between the pages of an account to one of them. */
export const accountPage = (visit: Visit, page: StatusPage): StatusPage => ({
  ...page,
  navigation: html`<nav class="account" aria-label="Account">
    ${pages.filter(({ isOffered }) => isOffered?.(visit) ?? true).map((each) => link(each, visit.http.path))}
  </nav>`,
});

const link = ({ path, name }: { path: string; name: string }, current: string): Html => {
  const isWithin = path !== "/" && current.startsWith(`${path}/`);
  const mark = path === current ? html` aria-current="page"` : isWithin ? html` aria-current="true"` : undefined;
  return html`<a href="${path}" ${mark}>${name}</a>`;
};

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

const units: ReadonlyArray<[unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ["year", 31_536_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en");

/** A time relative to now, since the page does not know the time zone of its reader: `3 days ago`, `in 2 hours`. */
export function timeOf(time: string, now = databaseTime()): Html {
  const seconds = Math.trunc((instantOf(time) - now) / 1000);
  const [unit, length] = units.find((each) => Math.abs(seconds) >= each[1]) ?? [];
  const near = seconds > 0 ? "in less than a minute" : "just now";
  const text = unit === undefined ? near : relative.format(Math.round(seconds / length!), unit);
  return html`<time datetime="${time}" title="${time}">${text}</time>`;
}
