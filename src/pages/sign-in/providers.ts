import type { Attempt, ProviderTest, SignInAttempts } from "../../domain/sign-in/attempts.js";
import type { KnownProvider } from "../../domain/sign-in/provider-registry.js";
import type { Context } from "../../domain/kernel/context.js";
import { cleanLabel } from "../../runtime/text.js";
import { routeNotFound } from "../../http/errors.js";
import { clearCookie, cookieOf, setCookie } from "../../http/cookies.js";
import { type Html, html } from "../html.js";
import { type Outcome, ownPath, type PageHandler, signInFirst, type Visit } from "../visit.js";

/** Keeps an attempt while its user is at the provider, which binds the sign-in to this browser. */
const attemptCookie = "service_sign_in";

/** The redirects to identity providers and back. */
export function providerPages(attempts: SignInAttempts): { ask: PageHandler; finish: PageHandler } {
  /** The attempt of this browser, which does not keep it any longer. */
  function takeAttempt(visit: Visit, provider: KnownProvider): Promise<Attempt> {
    const sealed = cookieOf(visit.http.req, attemptCookie);
    clearCookie(visit.http, attemptCookie, cookiesOf(visit));
    return attempts.resume(provider, sealed, visit.query.get("state") ?? "");
  }

  return {
    async ask(visit) {
      const provider = providerOf(visit);
      const conversion = visit.query.get("state") ?? undefined;
      const ticket = visit.query.get("ticket") ?? undefined;
      if (ticket === undefined && !provider.isActive) throw routeNotFound();
      const isOfSession = conversion !== undefined || ticket !== undefined;
      const ctx = isOfSession ? await visit.context() : await visitorOf(visit);
      if (isOfSession && ctx.actor.kind !== "user") return signInFirst(visit.http);
      const callback = callbackOf(visit, provider);
      const returnTo = ownPath(visit.query.get("return_to"));
      const begun = await attempts.begin(ctx, provider, { callback, returnTo, conversion, ticket });
      const { location, sealed, maxAge } = begun;
      setCookie(visit.http, attemptCookie, sealed, { ...cookiesOf(visit), maxAge });
      return { goTo: location };
    },

    async finish(visit) {
      const provider = providerOf(visit);
      const attempt = await takeAttempt(visit, provider);
      const { conversion, ticket, returnTo } = attempt;
      if (ticket?.purpose !== "test" && !provider.isActive) throw routeNotFound();
      const isOfSession = conversion !== undefined || ticket !== undefined;
      const ctx = isOfSession ? await visit.context() : visit.anonymous();
      const url = new URL(callbackOf(visit, provider) + visit.http.search);
      if (ticket?.purpose === "test") return showTest(ctx, provider, attempt, url);
      const { sessionToken } = await attempts.finish(ctx, provider, attempt, url);
      if (sessionToken !== undefined) visit.beginSession(sessionToken);
      if (ticket) return { goTo: "/keys?linked" };
      return { goTo: conversion !== undefined && returnTo === "/" ? "/?converted" : returnTo };
    },
  };

  async function showTest(ctx: Context, provider: KnownProvider, attempt: Attempt, url: URL): Promise<Outcome> {
    return testPage(provider, await attempts.test(ctx, provider, attempt, url));
  }
}

/** Maximum numbers of claims, and of characters of each, that the page of a test shows. */
const mostClaims = 200;
const longestClaim = 2000;

const shown = (text: string, longest = longestClaim) => cleanLabel(text, longest);

/** The page of a test: the claims of the provider, and their effect. */
function testPage({ label, settings }: KnownProvider, { identity, preview }: ProviderTest): Outcome {
  const claims = Object.entries(identity.claims).slice(0, mostClaims);
  const rows = claims.map(
    ([name, value]) =>
      html`<tr>
        <th scope="row"><code>${shown(name, 200)}</code></th>
        <td><code>${shown(typeof value === "string" ? value : JSON.stringify(value))}</code></td>
      </tr>`,
  );
  return {
    title: `Test of ${label}`,
    main: html`<p>
        You are still signed in as before, and nothing was stored. This is what the provider said, and what it would do.
      </p>
      <dl>
        <dt>Outcome</dt>
        <dd>${outcomes[preview.how](preview.username ?? "", preview.refusal ?? "")}</dd>
        ${settings.claimMappings.length > 0 ? effectsOf(preview.effects, settings.appliesClaims) : undefined}
        <dt>Issuer</dt>
        <dd><code>${identity.issuer}</code></dd>
        <dt>Subject (${settings.subjectClaim})</dt>
        <dd><code>${shown(identity.subject)}</code></dd>
        <dt>Verified email</dt>
        <dd>${identity.email ?? html`none. ${identity.emailDoubt}`}</dd>
      </dl>
      <table>
        <caption>
          Claims
        </caption>
        <tbody>
          ${rows}
        </tbody>
      </table>
      <a class="button" href="/sign-in-providers">Back to the providers</a>`,
  };
}

/** The effects of claims, each on a line. */
const effectsOf = (effects: ProviderTest["preview"]["effects"], isApplied: boolean): Html =>
  html`<dt>${isApplied ? "Effect of the claims" : "Effect of the claims, once they are applied"}</dt>
    <dd>
      ${effects.length === 0 ? "none" : effects.map(({ text, isWarning }) => html`<div>${isWarning ? "⚠ " : ""}${shown(text)}</div>`)}
    </dd>`;

/** The outcomes of tests in words. */
const outcomes: Record<ProviderTest["preview"]["how"], (username: string, refusal: string) => string> = {
  linked: (username) => `Signs in as ${username}, to whom the identity is linked.`,
  "linked by email": (username) =>
    `Signs in as ${username}, whose account has this email and no identity yet, and links it.`,
  created: (username) => `Creates the account ${username}, and signs in to it.`,
  rejected: (_, refusal) => `Is rejected. ${refusal}`,
};

/** The context of a visitor who signs in, perhaps again, whatever that user has to do first. */
const visitorOf = (visit: Visit): Promise<Context> => visit.context().catch(() => visit.anonymous());

function providerOf({ services, http }: Visit): KnownProvider {
  const provider = services.identityProviders.find(http.params.provider ?? "");
  if (!provider) throw routeNotFound();
  return provider;
}

const callbackOf = ({ services }: Visit, { settings: { name } }: KnownProvider) =>
  `${services.config.accessUrl}/login/${name}/callback`;

const cookiesOf = (visit: Visit) => ({ ...visit.cookies, path: "/login" });
