import type { Context } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { joinedOrganizations } from "./sign-in-providers.js";

/** A group whose name or members a person is about to change. */
interface ChangingGroup {
  organizationId: string;
  source: string;
}

/**
 * Throws CONFLICT for a group that a provider made in an organization whose groups it gives, if its settings lock these: its
 * name is a value of a claim, and the claims say who its members are.
 */
export async function requireUnlocked(ctx: Context, { organizationId, source }: ChangingGroup): Promise<void> {
  if (source !== "oidc") return;
  for (const { settings, label } of ctx.services.identityProviders.active) {
    if (!settings.locksGroups || !settings.appliesClaims) continue;
    const refs = settings.claimMappings.map(({ groupsOf }) => groupsOf).filter((ref) => ref !== "");
    if (refs.length === 0) continue;
    const found = await joinedOrganizations(ctx, refs).where("id", "=", organizationId).executeTakeFirst();
    if (found) throw conflict(`The name and the members of this group come from ${label}. Change them there.`);
  }
}
