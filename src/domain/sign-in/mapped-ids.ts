// What mappings name is found when they are stored or tried.
import type { Context } from "../kernel/context.js";
import type { Problems } from "../kernel/errors.js";
import type { ClaimGrant, ClaimMapping } from "./claim-mappings.js";
import { groupsNamed } from "./claimed-access.js";
import { joinedOrganizations } from "./sign-in-providers.js";

/** Replaces names in mappings by IDs, so that they stay what they are. Adds a fault for each that does not exist. */
export async function withMappedIds(
  ctx: Context,
  mappings: readonly ClaimMapping[],
  problems: Problems,
): Promise<readonly ClaimMapping[]> {
  const idOf = async (ref: string, field: string) => {
    const found = ref === "" ? undefined : await joinedOrganizations(ctx, [ref]).executeTakeFirst();
    if (ref !== "" && !found) problems.add(field, "Must be the ID or name of an organization.");
    return found?.id ?? ref;
  };
  const idOfGroup = async (ref: string, field: string) => {
    const [found, another] = await groupsNamed(ctx, ref);
    if (!found || another) problems.add(field, "Must be the ID of a group, or a name that only one group has.");
    return found?.id ?? ref;
  };
  const resolved: ClaimMapping[] = [];
  for (const [index, mapping] of mappings.entries()) {
    const path = `claimMappings[${index}]`;
    const grants: ClaimGrant[] = [];
    for (const [nr, grant] of mapping.grants.entries()) {
      const at = `${path}.grants[${nr}]`;
      const groups: string[] = [];
      for (const [each, ref] of grant.groups.entries()) groups.push(await idOfGroup(ref, `${at}.groups[${each}]`));
      grants.push({ ...grant, groups, organization: await idOf(grant.organization, `${at}.organization`) });
    }
    resolved.push({ ...mapping, grants, groupsOf: await idOf(mapping.groupsOf, `${path}.groupsOf`) });
  }
  return resolved;
}
