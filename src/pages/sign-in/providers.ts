import type { Attempt, SignInAttempts } from "../../domain/sign-in/attempts.js";
import type { IdentityProvider } from "../../infrastructure/identity-providers.js";
import { TransportError } from "../../http/errors.js";
import { clearCookie, cookieOf, setCookie } from "../../http/cookies.js";
import { ownPath, type PageHandler, signInFirst, type Visit } from "../visit.js";

/** Keeps an attempt while its user is at the provider, which binds the sign-in to this browser. */
const attemptCookie = "service_sign_in";

/** The redirects to identity providers and back. */
export function providerPages(attempts: SignInAttempts): { ask: PageHandler; finish: PageHandler } {
  /** The attempt of this browser, which does not keep it any longer. */
  function takeAttempt(visit: Visit, provider: IdentityProvider): Promise<Attempt> {
    const sealed = cookieOf(visit.http.req, attemptCookie);
    clearCookie(visit.http, attemptCookie, cookiesOf(visit));
    return attempts.resume(provider, sealed, visit.query.get("state") ?? "");
  }

  return {
    async ask(visit) {
      const provider = providerOf(visit);
      const conversion = visit.query.get("state") ?? undefined;
      const ctx = conversion === undefined ? visit.anonymous() : await visit.context();
      if (conversion !== undefined && ctx.actor.kind !== "user") {
        return signInFirst(visit.http);
      }
      const callback = callbackOf(visit, provider);
      const returnTo = ownPath(visit.query.get("return_to"));
      const { location, sealed, maxAge } = await attempts.begin(ctx, provider, { callback, returnTo, conversion });
      setCookie(visit.http, attemptCookie, sealed, { ...cookiesOf(visit), maxAge });
      return { goTo: location };
    },

    async finish(visit) {
      const provider = providerOf(visit);
      const attempt = await takeAttempt(visit, provider);
      const isConversion = attempt.conversion !== undefined;
      const ctx = isConversion ? await visit.context() : visit.anonymous();
      const url = new URL(callbackOf(visit, provider) + visit.http.search);
      const { sessionToken } = await attempts.finish(ctx, provider, attempt, url);
      if (sessionToken !== undefined) visit.beginSession(sessionToken);
      return { goTo: isConversion && attempt.returnTo === "/" ? "/?converted" : attempt.returnTo };
    },
  };
}

function providerOf({ services, http }: Visit): IdentityProvider {
  const provider = services.identityProviders.get(http.params.provider ?? "");
  if (!provider) throw new TransportError(404, "Route not found.");
  return provider;
}

const callbackOf = ({ services }: Visit, { name }: IdentityProvider) =>
  `${services.config.accessUrl}/login/${name}/callback`;

const cookiesOf = (visit: Visit) => ({ ...visit.cookies, path: "/login" });
