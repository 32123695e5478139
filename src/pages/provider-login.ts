import { timingSafeEqual } from "node:crypto";
import { requireFullSession } from "../domain/authorization/authorization.js";
import { DomainError } from "../domain/kernel/errors.js";
import { type IdentityProvider, newQuestion, type Question } from "../domain/outside/identity-providers.js";
import { signInThroughProvider } from "../domain/sign-in/providers.js";
import { hashSecret } from "../domain/tokens/text.js";
import { TransportError } from "../http/answers.js";
import { clearCookie, cookieOf, setCookie } from "../http/cookies.js";
import { ownPath } from "./return-to.js";
import type { Seals } from "./seals.js";
import type { Answer, Visit } from "./visit.js";

/** What a browser keeps while its user is at the provider: that binds the sign-in to it. */
const attemptCookie = "service_sign_in";

/** Seconds that somebody may take there. */
const lifetime = 600;

/** A sign-in that was begun. */
interface Attempt extends Question {
  provider: string;
  returnTo: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** SHA-256 of the state of a conversion, as hexadecimal digits. */
  conversion?: string;
}

/** Sign-in through identity providers: there, and back again. */
export function providerPages(seals: (visit: Visit) => Promise<Seals>): { ask: Answer; finish: Answer } {
  async function leave(visit: Visit, attempt: Attempt): Promise<void> {
    const text = Buffer.from(JSON.stringify(attempt)).toString("base64url");
    const value = (await seals(visit)).seal("sign-in", text);
    setCookie(visit.http, attemptCookie, value, { ...cookiesOf(visit), maxAge: lifetime });
  }

  /** The attempt that this answer belongs to. The browser keeps it no longer. */
  async function takeBack(visit: Visit, { name }: IdentityProvider): Promise<Attempt> {
    const text = (await seals(visit)).open("sign-in", cookieOf(visit.http.req, attemptCookie));
    clearCookie(visit.http, attemptCookie, cookiesOf(visit));
    const attempt = text === undefined ? undefined : (JSON.parse(Buffer.from(text, "base64url").toString()) as Attempt);
    const isCurrent = attempt !== undefined && attempt.provider === name && attempt.expiresAt > Date.now();
    if (isCurrent && isSame(attempt.state, visit.query.get("state") ?? "")) return attempt;
    throw new DomainError("BAD_USER_INPUT", "This sign-in was not begun in this browser, or it took too long.");
  }

  return {
    async ask(visit) {
      const provider = providerOf(visit);
      const conversion = visit.query.get("state");
      if (conversion !== null) {
        const { actor } = await visit.context();
        const login = `/login?${new URLSearchParams({ return_to: visit.http.originalUrl }).toString()}`;
        if (actor.kind !== "user") return { goTo: login };
        requireFullSession(actor);
      }
      const attempt: Attempt = {
        ...newQuestion(),
        provider: provider.name,
        returnTo: ownPath(visit.query.get("return_to")),
        expiresAt: Date.now() + lifetime * 1000,
        ...(conversion !== null && { conversion: hashSecret(conversion).toString("hex") }),
      };
      const url = await provider.ask(redirectUri(visit, provider), attempt);
      await leave(visit, attempt);
      return { goTo: url.href };
    },

    async finish(visit) {
      const provider = providerOf(visit);
      const attempt = await takeBack(visit, provider);
      const url = new URL(redirectUri(visit, provider) + visit.http.search);
      const identity = await provider.read(url, attempt);
      const conversion = attempt.conversion === undefined ? undefined : Buffer.from(attempt.conversion, "hex");
      const ctx = conversion ? await visit.context() : visit.nobody();
      const [stateHash, expiresAt] = [hashSecret(attempt.state), new Date(attempt.expiresAt).toISOString()];
      const { sessionToken } = await ctx.transactional(() =>
        signInThroughProvider(ctx, { identity, stateHash, expiresAt, conversion }),
      );
      if (sessionToken !== undefined) visit.beginSession(sessionToken);
      return { goTo: conversion && attempt.returnTo === "/" ? "/?converted" : attempt.returnTo };
    },
  };
}

function providerOf({ services, http }: Visit): IdentityProvider {
  const provider = services.identityProviders.get(http.state.params.provider ?? "");
  if (!provider) throw new TransportError(404, "Route not found.");
  return provider;
}

const redirectUri = ({ services }: Visit, { name }: IdentityProvider) =>
  `${services.config.accessUrl}/login/${name}/callback`;

const cookiesOf = (visit: Visit) => ({ ...visit.cookies, path: "/login" });

const isSame = (one: string, other: string) => timingSafeEqual(hashSecret(one), hashSecret(other));
