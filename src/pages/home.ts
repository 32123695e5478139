import { forbidden } from "../domain/kernel/errors.js";
import type { ProviderLogouts } from "../domain/sign-in/provider-logouts.js";
import { isFromOurPages } from "../http/csrf.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { accountPage } from "./account.js";
import type { Console } from "./console.js";
import { sessionForm } from "./forms.js";
import { html } from "./html.js";
import { notice } from "./layout.js";
import { onward } from "./sign-in/login.js";
import { type PageHandler, perform } from "./visit.js";

interface SignedIn {
  me: { username: string; name: string; email: string; loginType: string };
}

/** Display names of login types. */
const ways: Record<string, string> = {
  PASSWORD: "a password",
  OIDC: "OpenID Connect",
  GITHUB: "GitHub",
};

const foreignForm = () => forbidden("This form was not sent by a page of this server.");

const converted = "You sign in through the provider from now on. Your password no longer works.";

/** The front page: the console, and without script the signed-in user, and links to the account and to the interfaces. */
export function homePages(
  { documentWith }: Console,
  signedIn: StoredOperation,
  signOut: StoredOperation,
  logouts: ProviderLogouts,
): { show: PageHandler; leave: PageHandler } {
  return {
    async show(visit) {
      const ctx = await visit.context();
      if (ctx.actor.kind !== "user") return { goTo: "/login?return_to=%2F" };
      const { me } = await perform<SignedIn>(signedIn, ctx);
      const page = accountPage(visit, {
        title: `Hello, ${me.name || me.username}`,
        main: html`${visit.query.has("converted") && me.loginType !== "PASSWORD" ? notice(converted) : undefined}
          <dl>
            <dt>Signed in as</dt>
            <dd>${me.username}</dd>
            <dt>Email</dt>
            <dd>${me.email}</dd>
            <dt>Signs in with</dt>
            <dd>${ways[me.loginType] ?? "nothing"}</dd>
          </dl>
          <nav aria-label="Interfaces">
            <a href="/docs">REST API reference</a>
            <a href="/graphql">GraphQL explorer</a>
          </nav>
          ${sessionForm(visit, "/logout", html`<button class="quiet">Sign out</button>`)}`,
      });
      return documentWith(page);
    },

    async leave(visit) {
      const ctx = await visit.context();
      const there = await logouts.there(ctx);
      if (ctx.actor.kind === "user") await perform(signOut, ctx);
      else if (!isFromOurPages(visit.http.req, visit.services.config.accessUrl)) throw foreignForm();
      visit.endSession();
      const url = await there?.url();
      return url === undefined ? { goTo: "/login?signed_out" } : onward(visit, url, "You are signed out here");
    },
  };
}
