// How owners or the operator describe what claims of a provider give; `claimed-access.ts` gives it at each sign-in.
import { ClaimFate, type ClaimMapping, providerLengths } from "../../entities/sign-in.js";
import { isOrganizationRole, isSiteRole } from "../authorization/authorization.js";
import type { Problems } from "../kernel/errors.js";
import {
  characters,
  choice,
  type Input,
  inputOf,
  int,
  list,
  matching,
  optional,
  prose,
  reference,
  required,
  someOf,
} from "../kernel/values.js";
import { RoleName } from "../users/user-roles.js";

const claimPath = matching(
  /^[\x21-\x7e]{1,128}$/,
  "Must be the name of a claim, or a path with dots: 1 to 128 visible ASCII characters.",
  { maxLength: providerLengths.claim },
);

export const ClaimGrantInput = inputOf({
  values: required(
    someOf(100, characters(1, 256), "Must be 1 to 100 values."),
    "Values of the claim, {limits}, of which one suffices.",
  ),
  groups: optional(
    list(100, reference),
    "Groups that the person joins, {limits}, in organizations of which it is a member: IDs, or names that only one group has.",
  ),
  organization: optional(reference, "An organization that the person joins: ID, name, or `default`."),
  roles: optional(
    list(10, choice(RoleName)),
    "Roles that the person holds, {limits}: in the organization, or without one in the deployment.",
  ),
});

export const ClaimMappingInput = inputOf({
  claim: required(
    claimPath,
    "Claim in the ID token or at the UserInfo endpoint: its name, or a path such as `realm_access.roles`.",
  ),
  separator: optional(
    characters(1, 8),
    "Separator of the values of a text, {limits}. By default, a text is one value.",
  ),
  absent: optional(choice(ClaimFate), "The fate of earlier gifts if the claim is absent. By default, they are kept."),
  empty: optional(choice(ClaimFate), "Their fate if it is empty. By default, they are removed."),
  malformed: optional(
    choice(ClaimFate),
    "Their fate if it is no list of texts, or was left out because of its size. By default, they are kept.",
  ),
  grants: optional(list(200, ClaimGrantInput), "Gifts by values, {limits}."),
  groupsOf: optional(
    reference,
    "Organization whose groups people join that are called like values: ID, name, or `default`.",
  ),
  groupPattern: optional(
    prose(128),
    "Values that count as names of groups, such as `eng-*`, {limits}. By default, all of them.",
  ),
  mostNewGroups: optional(
    int(0, 1000),
    "How many groups providers may make in that organization, {limits}. By default, people join existing ones alone.",
  ),
});
export type ClaimMappingInput = Input<typeof ClaimMappingInput>;

export { ClaimFate, type ClaimGrant, type ClaimMapping } from "../../entities/sign-in.js";

/** Maximum number of mappings of a provider. */
export const mostMappings = 10;

/** Fills in the defaults of mappings. */
export const mappingsOf = (given: readonly ClaimMappingInput[]): ClaimMapping[] =>
  given.map((each) => ({
    claim: each.claim,
    separator: each.separator ?? "",
    absent: each.absent ?? ClaimFate.KEEP,
    empty: each.empty ?? ClaimFate.REMOVE,
    malformed: each.malformed ?? ClaimFate.KEEP,
    grants: (each.grants ?? []).map(({ values, groups, organization, roles }) => ({
      values,
      groups: groups ?? [],
      organization: organization ?? "",
      roles: (roles ?? []).filter((role) => isSiteRole(role) || isOrganizationRole(role)),
    })),
    groupsOf: each.groupsOf ?? "",
    groupPattern: each.groupPattern ?? "*",
    mostNewGroups: each.mostNewGroups ?? 0,
  }));

/** Adds the faults of mappings that concern several fields. */
export function addMappingProblems(
  problems: Problems,
  mappings: readonly ClaimMapping[],
  path = "claimMappings",
): void {
  for (const [index, mapping] of mappings.entries()) {
    const at = `${path}[${index}]`;
    if (mappings.findIndex(({ claim }) => claim === mapping.claim) < index)
      problems.add(`${at}.claim`, "Is mapped already.");
    if (mapping.groupsOf === "" && mapping.mostNewGroups > 0)
      problems.add(`${at}.groupsOf`, "Is required to make groups.");
    for (const [nr, { organization, roles }] of mapping.grants.entries())
      for (const [role, name] of roles.entries()) {
        const isRight = organization === "" ? isSiteRole(name) : isOrganizationRole(name);
        const where = organization === "" ? "the deployment" : "an organization";
        if (!isRight) problems.add(`${at}.grants[${nr}].roles[${role}]`, `Must be a role of ${where}.`);
      }
  }
}

/** Whether a value counts as the name of a group: `*` stands for any text. Takes time in the lengths of both alone. */
export function matchesPattern(pattern: string, value: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === value;
  const last = rest.pop()!;
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length) return false;
  const end = value.length - last.length;
  let at = first.length;
  for (const part of rest) {
    const found = value.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
