import { timingSafeEqual } from "node:crypto";
import { databaseTime } from "../../runtime/clock.js";
import { requireFullSession } from "../authorization/authorization.js";
import type { Seals } from "../deployment/seals.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { type IdentityProvider, newQuestion, type Question } from "../../infrastructure/identity-providers.js";
import { hashSecret } from "../tokens/token-text.js";
import { type SignedIn, signInThroughProvider } from "./provider-sign-in.js";

/** Lifetime of an attempt in seconds. */
const lifetime = 600;

export interface BeginAttempt {
  /** The redirect URL of the provider. */
  callback: string;
  /** The path to redirect to after the sign-in. */
  returnTo: string;
  /** The state of a conversion, if the attempt completes one. */
  conversion: string | undefined;
}

/** A pending sign-in. */
export interface Attempt extends Question {
  provider: string;
  returnTo: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** SHA-256 of the state of a conversion, hexadecimal. */
  conversion?: string;
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

  /** Begins an attempt. Throws FORBIDDEN for a conversion without a session with all scopes. */
  async begin(
    ctx: Context,
    provider: IdentityProvider,
    { callback, returnTo, conversion }: BeginAttempt,
  ): Promise<AttemptBegun> {
    if (conversion !== undefined) requireFullSession(requireUser(ctx.actor));
    const attempt: Attempt = {
      ...newQuestion(),
      provider: provider.name,
      returnTo,
      expiresAt: databaseTime() + lifetime * 1000,
      ...(conversion !== undefined && { conversion: hashSecret(conversion).toString("hex") }),
    };
    const { href } = await provider.ask(callback, attempt);
    const text = Buffer.from(JSON.stringify(attempt)).toString("base64url");
    return { location: href, sealed: await this.seals.seal("sign-in", text), maxAge: lifetime };
  }

  /** Opens the sealed attempt and checks the state that the provider returned. Throws BAD_USER_INPUT. */
  async resume({ name }: IdentityProvider, sealed: string | undefined, state: string): Promise<Attempt> {
    const text = await this.seals.open("sign-in", sealed);
    const attempt = text === undefined ? undefined : (JSON.parse(Buffer.from(text, "base64url").toString()) as Attempt);
    const isCurrent = attempt !== undefined && attempt.provider === name && attempt.expiresAt > databaseTime();
    if (isCurrent && isSame(attempt.state, state)) return attempt;
    throw new DomainError("BAD_USER_INPUT", "This sign-in was not started in this browser, or it has expired.");
  }

  /** Finishes an attempt with the response of the provider in `url`. Succeeds only once. */
  async finish(ctx: Context, provider: IdentityProvider, attempt: Attempt, url: URL): Promise<SignedIn> {
    const identity = await provider.read(url, attempt);
    const { state, expiresAt, conversion } = attempt;
    return ctx.transactional(() =>
      signInThroughProvider(ctx, {
        identity,
        stateHash: hashSecret(state),
        expiresAt: new Date(expiresAt).toISOString(),
        conversion: conversion === undefined ? undefined : Buffer.from(conversion, "hex"),
      }),
    );
  }
}

/** Compares in constant time. */
const isSame = (one: string, other: string) => timingSafeEqual(hashSecret(one), hashSecret(other));
