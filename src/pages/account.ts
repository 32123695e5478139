import { type Html, html } from "./html.js";
import type { StatusPage, Visit } from "./visit.js";

/** The pages of an account. */
const pages: ReadonlyArray<{ path: string; name: string; isOffered?: (visit: Visit) => boolean }> = [
  { path: "/", name: "Overview" },
  { path: "/account/password", name: "Password" },
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
