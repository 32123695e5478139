import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { accountPage, type Item, listOf, timeOf } from "../account.js";
import { html, type Part } from "../html.js";
import { type PageHandler, perform, signedIn, type Visit } from "../visit.js";
import { actionForm, pathOf, type Provider } from "./external-auth.js";

/** The page with all providers, at which users link and unlink their accounts. */
export const overviewPage = (operation: (name: string) => StoredOperation): PageHandler => {
  const list = operation("ExternalAuthProviders");
  return signedIn(async (visit, ctx) => {
    const { externalAuthProviders } = await perform<{ externalAuthProviders: Provider[] }>(list, ctx);
    const main =
      externalAuthProviders.length === 0
        ? html`<p>This server has no services at which you could link an account.</p>`
        : html`<p>With a linked account, your workspaces use a service in your name.</p>
            ${listOf(externalAuthProviders.map((provider) => itemOf(visit, provider)))}`;
    return accountPage(visit, { title: "Linked accounts", main });
  });
};

const itemOf = (visit: Visit, provider: Provider): Item => ({
  title: provider.displayName,
  lines: [provider.link ? html`Connected ${timeOf(provider.link.createdAt)}` : "Not connected"],
  actions: provider.link ? linkedActions(visit, provider) : pageLink(provider, "Connect"),
});

const linkedActions = (visit: Visit, provider: Provider): Part => [
  pageLink(provider, "Details"),
  actionForm(
    visit,
    provider,
    "disconnect",
    html`<button class="quiet" aria-label="Disconnect ${provider.displayName}">Disconnect</button>`,
  ),
];

const pageLink = ({ id, displayName }: Provider, label: string): Part =>
  html`<a class="button" href="${pathOf(id)}" aria-label="${label} ${displayName}">${label}</a>`;
