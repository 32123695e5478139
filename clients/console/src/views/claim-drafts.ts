// Mappings of claims while they are edited: as texts, with keys that stay when others come and go.
import { InvalidInput, type Validation } from "../api/errors";
import type {
  ClaimFate,
  ClaimGrantInput,
  ClaimMappingInput,
  ProviderClaimsQuery,
  RoleName,
} from "./provider-claims.gql";

type Mapping = NonNullable<ProviderClaimsQuery["identityProvider"]>["claimMappings"][number];

/** Gifts to people whose claim has one of some values. */
export interface GrantDraft {
  key: number;
  /** A value on each line. */
  values: string;
  groups: readonly string[];
  organization: string;
  roles: readonly RoleName[];
}

export interface ClaimDraft {
  key: number;
  claim: string;
  separator: string;
  absent: ClaimFate;
  empty: ClaimFate;
  malformed: ClaimFate;
  grants: readonly GrantDraft[];
  groupsOf: string;
  groupPattern: string;
  mostNewGroups: string;
}

let lastKey = 0;
const newKey = () => ++lastKey;

export const newGrant = (): GrantDraft => ({ key: newKey(), values: "", groups: [], organization: "", roles: [] });

export const newClaim = (claim = ""): ClaimDraft => ({
  key: newKey(),
  claim,
  separator: "",
  absent: "KEEP",
  empty: "REMOVE",
  malformed: "KEEP",
  grants: [newGrant()],
  groupsOf: "",
  groupPattern: "*",
  mostNewGroups: "",
});

export const draftsOf = (mappings: readonly Mapping[]): ClaimDraft[] =>
  mappings.map(({ grants, mostNewGroups, ...mapping }) => ({
    ...mapping,
    key: newKey(),
    grants: grants.map((grant) => ({ ...grant, key: newKey(), values: grant.values.join("\n") })),
    mostNewGroups: mostNewGroups === 0 ? "" : String(mostNewGroups),
  }));

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const grantOf = ({ values, groups, organization, roles }: GrantDraft): ClaimGrantInput => ({
  values: linesOf(values),
  ...(groups.length > 0 && { groups: [...groups] }),
  ...(organization !== "" && { organization }),
  ...(roles.length > 0 && { roles: [...roles] }),
});

const isBlank = ({ values, groups, organization, roles }: GrantDraft) =>
  values.trim() === "" && groups.length === 0 && organization === "" && roles.length === 0;

/** The rules without the last ones that are not filled in, so that the places of the others stay. */
const filledIn = (grants: readonly GrantDraft[]) => grants.slice(0, grants.findLastIndex((each) => !isBlank(each)) + 1);

/** A draft as the API takes it. What has its default is left out. */
const mappingOf = (draft: ClaimDraft): ClaimMappingInput => ({
  claim: draft.claim.trim(),
  ...(draft.separator !== "" && { separator: draft.separator }),
  ...(draft.absent !== "KEEP" && { absent: draft.absent }),
  ...(draft.empty !== "REMOVE" && { empty: draft.empty }),
  ...(draft.malformed !== "KEEP" && { malformed: draft.malformed }),
  ...(!draft.grants.every(isBlank) && { grants: filledIn(draft.grants).map(grantOf) }),
  ...(draft.groupsOf !== "" && {
    groupsOf: draft.groupsOf,
    groupPattern: draft.groupPattern || "*",
    mostNewGroups: Number(draft.mostNewGroups),
  }),
});

export const mappingsOf = (drafts: readonly ClaimDraft[]): ClaimMappingInput[] => drafts.map(mappingOf);

/** Throws the faults of drafts of which the server would only say that they are no mappings. */
export function checkDrafts(drafts: readonly ClaimDraft[]): void {
  const faults: Validation[] = [];
  for (const [at, { groupsOf, mostNewGroups }] of drafts.entries())
    if (groupsOf !== "" && !/^\d{0,4}$/.test(mostNewGroups.trim()))
      faults.push({ field: `claimMappings[${at}].mostNewGroups`, detail: "Must be a whole number, at most 1000." });
  if (faults.length > 0) throw new InvalidInput(faults);
}

export const textOfMappings = (mappings: readonly ClaimMappingInput[]): string =>
  JSON.stringify(mappings, undefined, 2);

const invalid = (detail: string) => new InvalidInput([{ field: "claimMappings", detail }]);

/** Reads mappings in JSON. Throws what is wrong with them. */
export function mappingsIn(text: string): ClaimMappingInput[] {
  let read: unknown;
  try {
    read = JSON.parse(text.trim() === "" ? "[]" : text);
  } catch (error) {
    throw invalid(`Is not JSON: ${(error as Error).message}.`);
  }
  if (!Array.isArray(read)) throw invalid("Must be a list of claims, in brackets.");
  return read as ClaimMappingInput[];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown) => value == null || typeof value === "string";
const isTexts = (value: unknown) =>
  value == null || (Array.isArray(value) && value.every((each) => typeof each === "string"));

const isFate = (value: unknown) => value == null || value === "KEEP" || value === "REMOVE";

/** The kinds of the fields that a form has. */
const shapes = {
  claim: isText,
  separator: isText,
  absent: isFate,
  empty: isFate,
  malformed: isFate,
  grants: (value: unknown) => value == null || Array.isArray(value),
  groupsOf: isText,
  groupPattern: isText,
  mostNewGroups: (value: unknown) => value == null || typeof value === "number",
};

const grantShapes = { values: isTexts, groups: isTexts, organization: isText, roles: isTexts };

/** Finds the first field that a form cannot show. */
function strangeIn(value: unknown, known: Record<string, (field: unknown) => boolean>, at: string): string | undefined {
  if (!isObject(value)) return at;
  const strange = Object.keys(value).find((name) => !Object.hasOwn(known, name) || !known[name]!(value[name]));
  return strange === undefined ? undefined : `${at}.${strange}`;
}

/** Makes drafts of mappings that people wrote. Throws what has no place in a form. */
export function draftsIn(text: string): ClaimDraft[] {
  const mappings = mappingsIn(text);
  for (const [at, mapping] of mappings.entries()) {
    const grants: unknown[] = isObject(mapping) && Array.isArray(mapping.grants) ? mapping.grants : [];
    const strange =
      strangeIn(mapping, shapes, `claimMappings[${at}]`) ??
      grants.map((grant, nr) => strangeIn(grant, grantShapes, `claimMappings[${at}].grants[${nr}]`)).find(Boolean);
    if (strange !== undefined) throw invalid(`The form cannot show ${strange}.`);
  }
  return mappings.map(({ grants, mostNewGroups, ...given }) => ({
    ...newClaim(),
    ...withoutNulls(given),
    grants: (grants ?? []).map(({ values, ...grant }) => ({
      ...newGrant(),
      ...withoutNulls(grant),
      values: (values ?? []).join("\n"),
    })),
    mostNewGroups: mostNewGroups ? String(mostNewGroups) : "",
  }));
}

type WithoutNulls<Value> = { [Key in keyof Value]: Exclude<Value[Key], null | undefined> };

const withoutNulls = <Value extends object>(value: Value) =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each != null)) as WithoutNulls<Value>;
