import { timingSafeEqual } from "node:crypto";
import { databaseTime } from "../../runtime/clock.js";
import { authorize, requireFullSession } from "../authorization/authorization.js";
import type { Seals } from "../deployment/signed-values.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { type Identity, newQuestion, type Question } from "../../infrastructure/identity-providers.js";
import { hashSecret } from "../tokens/token-text.js";
import type { KnownProvider } from "./provider-registry.js";
import { previewSignIn, type SignedIn, type SignInPreview, signInThroughProvider } from "./provider-sign-in.js";
import { reportFailure, reportSuccess } from "./sign-in-reports.js";
import { openTicket, requireHolder, type Ticket } from "./tickets.js";

/** Lifetime of an attempt in seconds. */
const lifetime = 600;

export interface BeginAttempt {
  /** The redirect URL of the provider. */
  callback: string;
  /** The path to redirect to after the sign-in. */
  returnTo: string;
  /** The state of a conversion, if the attempt completes one. */
  conversion: string | undefined;
  /** The sealed ticket with which a session links an identity, or tests the provider. */
  ticket: string | undefined;
}

/** A pending sign-in. */
export interface Attempt extends Question {
  /** Stamp of the provider. */
  provider: string;
  returnTo: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** SHA-256 of the state of a conversion, hexadecimal. */
  conversion?: string;
  ticket?: Ticket;
}

/** The claims of a provider in a test, and their effect. */
export interface ProviderTest {
  identity: Identity;
  preview: SignInPreview;
}

/** The URL at the provider, and the sealed attempt that the browser stores for `maxAge` seconds. */
export interface AttemptBegun {
  location: string;
  sealed: string;
  maxAge: number;
}

/**
 * Sign-ins through identity providers (OpenID Connect, OAuth 2.0 authorization code). They are not part of the schema,
 * because only the browser that began an attempt can finish it, at the redirect URL registered with the provider.
 */
export class SignInAttempts {
  constructor(private readonly seals: Seals) {}

  /** Begins an attempt. Throws FORBIDDEN for a conversion or a ticket without a session with all scopes. */
  async begin(
    ctx: Context,
    provider: KnownProvider,
    { callback, returnTo, conversion, ticket: sealed }: BeginAttempt,
  ): Promise<AttemptBegun> {
    if (conversion !== undefined) requireFullSession(requireUser(ctx.actor));
    const ticket = sealed === undefined ? undefined : await openTicket(ctx, provider, sealed);
    const attempt: Attempt = {
      ...newQuestion(),
      ...proofAskedOf(ctx, provider),
      provider: provider.stamp,
      returnTo,
      expiresAt: databaseTime() + lifetime * 1000,
      ...(conversion !== undefined && { conversion: hashSecret(conversion).toString("hex") }),
      ...(ticket && { ticket }),
    };
    const { href } = await this.#reporting(ctx, provider, () => provider.ask(callback, attempt));
    const text = Buffer.from(JSON.stringify(attempt)).toString("base64url");
    return { location: href, sealed: await this.seals.seal("sign-in", text), maxAge: lifetime };
  }

  /** Opens the sealed attempt and checks the state that the provider returned. Throws BAD_USER_INPUT. */
  async resume({ stamp }: KnownProvider, sealed: string | undefined, state: string): Promise<Attempt> {
    const text = await this.seals.open("sign-in", sealed);
    const attempt = text === undefined ? undefined : (JSON.parse(Buffer.from(text, "base64url").toString()) as Attempt);
    const isCurrent = attempt !== undefined && attempt.provider === stamp && attempt.expiresAt > databaseTime();
    if (isCurrent && isSame(attempt.state, state)) return attempt;
    throw new DomainError("BAD_USER_INPUT", "This sign-in was not started in this browser, or it has expired.");
  }

  /** Finishes an attempt with the response of the provider in `url`. Succeeds only once. */
  async finish(ctx: Context, provider: KnownProvider, attempt: Attempt, url: URL): Promise<SignedIn> {
    const { state, expiresAt, conversion, ticket } = attempt;
    if (ticket) requireHolder(ctx.actor, ticket);
    return this.#reporting(ctx, provider, async () => {
      const identity = await provider.read(url, attempt);
      const signedIn = await ctx.transactional(() =>
        signInThroughProvider(ctx, {
          provider,
          identity,
          stateHash: hashSecret(state),
          expiresAt: new Date(expiresAt).toISOString(),
          conversion: conversion === undefined ? undefined : Buffer.from(conversion, "hex"),
          linkTo: ticket?.userId,
        }),
      );
      reportSuccess(ctx, provider.settings.name);
      return signedIn;
    });
  }

  /** Finishes an attempt that tests a provider: no user is signed in, and nothing is stored. */
  async test(ctx: Context, provider: KnownProvider, attempt: Attempt, url: URL): Promise<ProviderTest> {
    requireHolder(ctx.actor, attempt.ticket!);
    authorize(ctx.actor, "sign_in_provider:update");
    return this.#reporting(ctx, provider, async () => {
      const identity = await provider.read(url, attempt);
      return { identity, preview: await previewSignIn(ctx, provider, identity) };
    });
  }

  /** Remembers why a sign-in failed. */
  async #reporting<Result>(ctx: Context, { settings }: KnownProvider, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      reportFailure(ctx, settings.name, error);
      throw error;
    }
  }
}

/** The age of the last sign-in there that proves who the caller is, if the caller has to prove it, and the provider can. */
function proofAskedOf({ actor }: Context, { settings }: KnownProvider): { longestAge?: number } {
  const proof = actor.kind === "user" ? actor.proof : undefined;
  const canProve = settings.factorMethods.length + settings.factorContexts.length > 0;
  return proof && canProve && proof.until <= databaseTime() ? { longestAge: proof.maxAge } : {};
}

/** Compares in constant time. */
const isSame = (one: string, other: string) => timingSafeEqual(hashSecret(one), hashSecret(other));
