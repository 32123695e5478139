import { randomBytes } from "node:crypto";
import { type DomainError, forbidden } from "../domain/kernel/errors.js";
import { translate } from "../graphql/engine/errors.js";
import { cookieOf, setCookie } from "../http/cookies.js";
import { statusOf } from "../http/statuses.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { type Html, html, type Part } from "./html.js";
import { alarm, notice } from "./layout.js";
import { ownPath } from "./return-to.js";
import type { Seals } from "./seals.js";
import { type Answer, type Outcome, perform, type StatusPage, type Visit } from "./visit.js";

/** Recognises a browser that is not signed in, so that only its own form signs it in. */
const visitorCookie = "service_visitor";

export interface LoginOptions {
  seals: (visit: Visit) => Promise<Seals>;
  signedIn: StoredOperation;
  signIn: StoredOperation;
}

/** What the form says after it was filled in. */
interface Said {
  email?: string;
  failure?: DomainError;
}

/** Where people sign in: with a password, or by a provider. */
export function loginPages({ seals, signedIn, signIn }: LoginOptions): { show: Answer; submit: Answer } {
  async function formPage(visit: Visit, returnTo: string, { email, failure }: Said = {}): Promise<StatusPage> {
    const token = (await seals(visit)).mark("login form", await visitorOf(visit));
    if (failure?.facts.retryAfter !== undefined) visit.http.state.headers["Retry-After"] = failure.facts.retryAfter;
    const { passwordAuth } = visit.services.config;
    return {
      status: failure && statusOf(failure),
      title: "Sign in",
      main: html`${alarm(failure && messageOf(failure))}
      ${passwordAuth ? passwordForm(token, returnTo, email) : undefined} ${otherWays(visit, returnTo)}`,
    };
  }

  /** What the browser is known by: kept while it lasts, so that several forms may be open at once. */
  async function visitorOf(visit: Visit): Promise<string> {
    const sealed = cookieOf(visit.http.req, visitorCookie);
    const known = (await seals(visit)).open("visitor", sealed);
    if (known) return known;
    const visitor = randomBytes(16).toString("base64url");
    const value = (await seals(visit)).seal("visitor", visitor);
    setCookie(visit.http, visitorCookie, value, { ...visit.cookies, path: "/login" });
    return visitor;
  }

  async function isOurForm(visit: Visit): Promise<boolean> {
    const marks = await seals(visit);
    const visitor = marks.open("visitor", cookieOf(visit.http.req, visitorCookie));
    return visitor !== undefined && marks.isMark("login form", visitor, visit.form.get("csrf_token") ?? "");
  }

  return {
    async show(visit) {
      const returnTo = ownPath(visit.query.get("return_to"));
      const page = await formPage(visit, returnTo);
      const ctx = await visit.context();
      if (ctx.actor.kind !== "user") {
        return visit.query.has("signed_out")
          ? { ...page, main: html`${notice("You are signed out.")}${page.main}` }
          : page;
      }
      const { me } = await perform<{ me: { username: string } }>(signedIn, ctx);
      return { ...page, main: html`${alreadySignedIn(me.username, returnTo)}${page.main}` };
    },

    async submit(visit) {
      const returnTo = ownPath(visit.form.get("return_to"));
      const email = visit.form.get("email") ?? "";
      const input = { email, password: visit.form.get("password") ?? "" };
      if (!(await isOurForm(visit))) return formPage(visit, returnTo, { email, failure: staleForm() });
      try {
        const { login } = await perform<{ login: { sessionToken: string } }>(signIn, visit.nobody(), { input });
        visit.beginSession(login.sessionToken);
        return returnTo.startsWith("/login/") ? onward(visit, returnTo) : { goTo: returnTo };
      } catch (error) {
        const failure = translate(error);
        if (failure.code === "INTERNAL_SERVER_ERROR") throw error;
        return formPage(visit, returnTo, { email, failure });
      }
    },
  };
}

/**
 * Goes on to a provider. Browsers hold redirects that follow a form to the policy of its page, which knows no provider:
 * so this is where the form ends.
 */
function onward({ http }: Visit, path: string): Outcome {
  http.state.headers.Refresh = `0;url=${path}`;
  return { title: "You are signed in", main: html`<a class="button" href="${path}">Continue</a>` };
}

const staleForm = () => forbidden("This form was not opened in this browser, or its cookie is gone. Try again.");

const labels: Record<string, string> = { email: "E-mail", password: "Password" };

function messageOf({ message, facts: { detail, validations, retryAfter } }: DomainError): string {
  if (validations) return validations.map(({ field, detail: rule }) => `${labels[field]}: ${rule}`).join(" ");
  const wait = retryAfter && `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`;
  return [message, detail, wait].filter(Boolean).join(" ");
}

const alreadySignedIn = (username: string, returnTo: string): Html =>
  html`<p>
    You are signed in as <strong>${username}</strong>. <a href="${returnTo}">Continue</a>, or sign in as somebody else:
  </p>`;

function passwordForm(token: string, returnTo: string, email = ""): Html {
  const [first, second] = email === "" ? [html`autofocus`, undefined] : [undefined, html`autofocus`];
  return html`<form method="post" action="/login">
    <input type="hidden" name="csrf_token" value="${token}" />
    <input type="hidden" name="return_to" value="${returnTo}" />
    <label>E-mail <input type="email" name="email" value="${email}" autocomplete="username" required ${first} /></label>
    <label>Password <input type="password" name="password" autocomplete="current-password" required ${second} /></label>
    <button>Sign in</button>
  </form>`;
}

function otherWays({ services: { identityProviders, config } }: Visit, returnTo: string): Part {
  const query = new URLSearchParams({ return_to: returnTo }).toString();
  const links = [...identityProviders.values()].map(
    ({ name, label }) => html`<a class="button" href="/login/${name}?${query}">Sign in with ${label}</a>`,
  );
  if (!config.passwordAuth) {
    return links.length > 0 ? links : html`<p>Nobody can sign in here: no way to do so is configured.</p>`;
  }
  return links.length > 0 ? [html`<p class="or">or</p>`, links] : undefined;
}
