// What a mapping would do to the people who signed in last, before sign-ins apply it.
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import type { ClaimEffect } from "./claimed-access.js";
import { openTokens } from "./provider-sessions.js";
import { previewClaims } from "./provider-sign-in.js";
import type { NamedProvider } from "./sign-in-providers.js";

/** Maximum number of people whose last sign-in is tried. */
const mostPeople = 50;

/** The effects that the claims of a person's last sign-in would have. */
export interface PersonTrial {
  username: string;
  /** When the person signed in. */
  signedInAt: string;
  effects: ClaimEffect[];
}

/** A mapping, tried on the last sign-ins. */
export interface MappingTrial {
  people: PersonTrial[];
  /** How many of the last people have no claims that were kept. */
  skippedCount: number;
}

/**
 * Tries the claim mappings of a provider on the claims of the last sign-ins through it, one for each person who is still
 * signed in. Nothing is stored. Claims are kept from sign-ins as long as there are mappings that are not applied.
 */
export async function tryClaimMappings(ctx: Context, { provider: ref }: NamedProvider): Promise<MappingTrial> {
  authorize(ctx.actor, "sign_in_provider:update");
  const { identityProviders } = ctx.services;
  const provider = identityProviders.find(ref) ?? identityProviders.withId(ref);
  if (!provider) throw notFound();
  const { settings } = provider;
  const sessions = await ctx.db
    .with("last", (db) =>
      db
        .selectFrom("providerSessions as s")
        .innerJoin("apiKeys as k", "k.id", "s.apiKeyId")
        .innerJoin("users as u", "u.id", "k.userId")
        .where("s.provider", "=", settings.name)
        .where("u.status", "=", "active")
        .distinctOn("u.id")
        .orderBy("u.id")
        .orderBy("s.createdAt", "desc")
        .select(["u.id as userId", "u.username", "s.id", "s.createdAt", "s.keyId"])
        .select(["s.tokensNonce as nonce", "s.tokensCiphertext as ciphertext"]),
    )
    .selectFrom("last")
    .select(["userId", "username", "id", "createdAt", "keyId", "nonce", "ciphertext"])
    .orderBy("createdAt", "desc")
    .limit(mostPeople)
    .execute();
  const people: PersonTrial[] = [];
  for (const session of sessions) {
    const { claims } = openTokens(ctx, session);
    if (!claims) continue;
    const effects = await previewClaims(ctx, settings, claims, session.userId);
    people.push({ username: session.username, signedInAt: session.createdAt, effects });
  }
  return { people, skippedCount: sessions.length - people.length };
}
