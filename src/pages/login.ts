import { randomBytes } from "node:crypto";
import type { Seals } from "../domain/deployment/seals.js";
import { type DomainError, forbidden } from "../domain/kernel/errors.js";
import { translate } from "../graphql/engine/errors.js";
import { cookieOf, setCookie } from "../http/cookies.js";
import { statusOf } from "../http/statuses.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { type Html, html, type Part } from "./html.js";
import { alarm, notice } from "./layout.js";
import { ownPath } from "./return-to.js";
import { type PageHandler, type Outcome, perform, type StatusPage, type Visit } from "./visit.js";

/** Identifies a browser that is not signed in, so that it can only be signed in by a form of its own. */
const visitorCookie = "service_visitor";

export interface LoginOptions {
  seals: Seals;
  signedIn: StoredOperation;
  signIn: StoredOperation;
}

/** What a rejected form shows. */
interface FormState {
  email?: string;
  failure?: DomainError;
}

/** The sign-in page, with a password form and links to the providers. */
export function loginPages({ seals, signedIn, signIn }: LoginOptions): { show: PageHandler; submit: PageHandler } {
  async function formPage(visit: Visit, returnTo: string, { email, failure }: FormState = {}): Promise<StatusPage> {
    const token = await seals.mark("login form", await visitorOf(visit));
    if (failure?.details.retryAfter !== undefined) visit.http.state.headers["Retry-After"] = failure.details.retryAfter;
    const { passwordAuth } = visit.services.config;
    return {
      status: failure && statusOf(failure),
      title: "Sign in",
      main: html`${alarm(failure && messageOf(failure))}
      ${passwordAuth ? passwordForm(token, returnTo, email) : undefined} ${otherWays(visit, returnTo)}`,
    };
  }

  /** The id of the browser, which stays the same so that several forms can be open together. */
  async function visitorOf(visit: Visit): Promise<string> {
    const sealed = cookieOf(visit.http.req, visitorCookie);
    const known = await seals.open("visitor", sealed);
    if (known) return known;
    const visitor = randomBytes(16).toString("base64url");
    const value = await seals.seal("visitor", visitor);
    setCookie(visit.http, visitorCookie, value, { ...visit.cookies, path: "/login" });
    return visitor;
  }

  async function isOurForm(visit: Visit): Promise<boolean> {
    const visitor = await seals.open("visitor", cookieOf(visit.http.req, visitorCookie));
    return visitor !== undefined && seals.isMark("login form", visitor, visit.form.get("csrf_token") ?? "");
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
        const { login } = await perform<{ login: { sessionToken: string } }>(signIn, visit.anonymous(), { input });
        visit.beginSession(login.sessionToken);
        return leadsAway.test(returnTo) ? onward(visit, returnTo) : { goTo: returnTo };
      } catch (error) {
        const failure = translate(error);
        if (failure.code === "INTERNAL_SERVER_ERROR") throw error;
        return formPage(visit, returnTo, { email, failure });
      }
    },
  };
}

/** The paths that redirect to other servers: to providers, and to applications, of which some requests are rejected. */
const leadsAway = /^\/(login\/|oauth2\/authorize(\?|$))/;

/**
 * Goes on by a page with a `Refresh` header. Browsers apply `form-action` of the form's page to redirects after it, which
 * would block other servers.
 */
function onward({ http }: Visit, path: string): Outcome {
  http.state.headers.Refresh = `0;url=${path}`;
  return { title: "You are signed in", main: html`<a class="button" href="${path}">Continue</a>` };
}

const staleForm = () => forbidden("This form was not opened in this browser, or its cookie is gone. Try again.");

const labels: Record<string, string> = { email: "Email", password: "Password" };

function messageOf({ message, details: { detail, validations, retryAfter } }: DomainError): string {
  if (validations) return validations.map(({ field, detail: rule }) => `${labels[field]}: ${rule}`).join(" ");
  const wait = retryAfter && `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`;
  return [message, detail, wait].filter(Boolean).join(" ");
}

const alreadySignedIn = (username: string, returnTo: string): Html =>
  html`<p>
    You are signed in as <strong>${username}</strong>. <a href="${returnTo}">Continue</a>, or sign in as another user:
  </p>`;

function passwordForm(token: string, returnTo: string, email = ""): Html {
  const [first, second] = email === "" ? [html`autofocus`, undefined] : [undefined, html`autofocus`];
  return html`<form method="post" action="/login">
    <input type="hidden" name="csrf_token" value="${token}" />
    <input type="hidden" name="return_to" value="${returnTo}" />
    <label>Email <input type="email" name="email" value="${email}" autocomplete="username" required ${first} /></label>
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
    return links.length > 0 ? links : html`<p>No way to sign in is configured.</p>`;
  }
  return links.length > 0 ? [html`<p class="or">or</p>`, links] : undefined;
}
