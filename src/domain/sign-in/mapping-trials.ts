// What a mapping would do to the people who signed in last, before sign-ins apply it.
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { check, inputOf, type Input, list, optional, reference } from "../kernel/values.js";
import { findUser } from "../users/users.js";
import {
  addMappingProblems,
  type ClaimMapping,
  ClaimMappingInput,
  mappingsOf,
  mostMappings,
} from "./claim-mappings.js";
import type { ClaimEffect } from "./claimed-access.js";
import { withMappedIds } from "./mapped-ids.js";
import { openTokens } from "./provider-sessions.js";
import { previewClaims } from "./provider-sign-in.js";
import { NamedProvider } from "./sign-in-providers.js";

/** Maximum number of people whose last sign-in is tried. */
const mostPeople = 50;

export const TryClaimMappings = inputOf({
  ...NamedProvider.shape,
  claimMappings: optional(
    list(mostMappings, ClaimMappingInput),
    "Mappings to try, {limits}, which are not stored. Default: those of the provider.",
  ),
  user: optional(reference, "The only person to try: ID or username. Default: all."),
});
export type TryClaimMappings = Input<typeof TryClaimMappings>;

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
 * Tries the claim mappings of a provider, or others in their place, on the claims of the last sign-ins through it, one for
 * each person who is still signed in. Nothing is stored. Claims are kept from sign-ins as long as there are mappings that
 * are not applied.
 */
export async function tryClaimMappings(ctx: Context, input: TryClaimMappings): Promise<MappingTrial> {
  authorize(ctx.actor, "sign_in_provider:update");
  const { identityProviders } = ctx.services;
  const provider = identityProviders.find(input.provider) ?? identityProviders.withId(input.provider);
  if (!provider) throw notFound();
  const claimMappings = await mappingsToTry(ctx, input, provider.settings.claimMappings);
  const settings = { ...provider.settings, claimMappings };
  const userId = input.user == null ? undefined : (await findUser(ctx, input.user)).id;
  const sessions = await ctx.db
    .with("last", (db) =>
      db
        .selectFrom("providerSessions as s")
        .innerJoin("apiKeys as k", "k.id", "s.apiKeyId")
        .innerJoin("users as u", "u.id", "k.userId")
        .where("s.provider", "=", settings.name)
        .where("u.status", "=", "active")
        .$if(userId !== undefined, (of) => of.where("u.id", "=", userId!))
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

/** The mappings of an input, or those that are stored. Reports their faults as a change of the provider does. */
async function mappingsToTry(
  ctx: Context,
  input: TryClaimMappings,
  stored: readonly ClaimMapping[],
): Promise<readonly ClaimMapping[]> {
  const problems = new Problems();
  check(TryClaimMappings, input, problems);
  problems.throwIfAny();
  if (input.claimMappings == null) return stored;
  const given = mappingsOf(input.claimMappings);
  addMappingProblems(problems, given);
  const found = await withMappedIds(ctx, given, problems);
  problems.throwIfAny();
  return found;
}
