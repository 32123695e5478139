import type { ClaimMapping } from "../entities/sign-in.js";
import { foldCase } from "../runtime/text.js";

/** Claims about a user, from an ID token or a UserInfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>;

/** Maximum numbers of values of a claim, and of characters of each. */
const mostValues = 1000;
const longestValue = 256;

/** The values of a claim, or why it has none. */
export type ClaimReading = { values: string[] } | { fault: "absent" | "empty" | "malformed" };

/**
 * Reads the values of a claim: a list of texts, or a text. Providers leave out what is too large and refer to it elsewhere
 * (`_claim_names`, OpenID Connect Core §5.6.2; `hasgroups` of Entra ID), which counts as malformed.
 */
export function readClaim(
  claims: Claims,
  { claim, separator }: Pick<ClaimMapping, "claim" | "separator">,
): ClaimReading {
  const found = valueAt(claims, claim);
  if (found === undefined || found === null) {
    const elsewhere = claims["_claim_names"];
    const isElsewhere = typeof elsewhere === "object" && elsewhere !== null && Object.hasOwn(elsewhere, claim);
    const isOverage = isElsewhere || (claim === "groups" && String(claims.hasgroups) === "true");
    return { fault: isOverage ? "malformed" : "absent" };
  }
  const parts = typeof found === "string" ? (separator === "" ? [found] : found.split(separator)) : (found as unknown);
  if (!Array.isArray(parts)) return { fault: "malformed" };
  const values = parts.map((part: unknown) => (typeof part === "number" ? String(part) : part));
  const isList = values.every((value) => typeof value === "string" && value.length <= longestValue);
  if (!isList || values.length > mostValues) return { fault: "malformed" };
  const given = [...new Set((values as string[]).map((value) => value.trim()).filter(Boolean))];
  return given.length === 0 ? { fault: "empty" } : { values: given };
}

/** Finds a claim by its whole name, or else by the names on its path. */
function valueAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Claims)[name];
  }
  return at;
}

/** How much an operator trusts what a provider says of email addresses. */
export interface EmailTrust {
  /** The domains of addresses that count as verified if it does not say whether they are. */
  emailDomains: readonly string[];
  emailVerified: "trusted" | "required";
}

/** The address of a user if it counts as verified, otherwise the reason why it does not. */
export type EmailClaim = { email: string } | { emailDoubt: string };

/** Characters of a `sub` claim (OpenID Connect Core §2), and of a claim in its place. */
const longestSubject = 255;

/** Reads the text of a claim, without white space at its ends. */
export const textOf = (claim: unknown): string | undefined =>
  typeof claim === "string" && claim.trim() !== "" ? claim.trim() : undefined;

/** Reads the claim of an ID token that identifies its user permanently. Throws if it is absent or too long. */
export function subjectOf(token: Claims, claim: string): string {
  const value = token[claim];
  const subject = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof subject !== "string" || subject === "") throw new Error(`The ID token has no claim "${claim}".`);
  if (subject.length > longestSubject) throw new Error(`The claim "${claim}" is too long.`);
  return subject;
}

/**
 * Reads the address of a user. `email_verified` is a boolean (OpenID Connect Core §5.1); Auth0 and Cognito may send it as
 * text. A provider that does not send it, as Entra ID, is trusted for the operator's own domains alone, unless
 * the settings of the provider require it, and never if its issuer serves many tenants.
 */
export function emailOf(
  claims: Claims,
  { emailDomains, emailVerified }: EmailTrust,
  servesManyTenants: boolean,
): EmailClaim {
  const email = textOf(claims.email);
  if (email === undefined) return { emailDoubt: "It sent no email." };
  const isVerified = claims.email_verified;
  if (isVerified === true || (typeof isVerified === "string" && foldCase(isVerified.trim()) === "true"))
    return { email };
  if (isVerified === null) return { emailDoubt: "It could not be asked whether the email is verified." };
  if (isVerified !== undefined) return { emailDoubt: "It says that the email is not verified." };
  if (emailVerified === "required")
    return { emailDoubt: "It does not say whether the email is verified, which this deployment requires." };
  if (servesManyTenants)
    return { emailDoubt: "It does not say whether the email is verified, and serves many tenants, who could set any." };
  return isInDomains(email, emailDomains)
    ? { email }
    : { emailDoubt: "It does not say whether the email is verified, and the domain is none of this deployment." };
}

/** Whether the domain of an address is one of those given. */
export const isInDomains = (email: string, domains: readonly string[]): boolean =>
  domains.includes(foldCase(email.slice(email.lastIndexOf("@") + 1)));

/** A second factor that a provider checked. */
export interface ProviderFactor {
  /** When the user was asked, in milliseconds since the epoch, if the provider says so. */
  at?: number;
}

/**
 * The second factor that an ID token reports, by a value of `amr` (RFC 8176) or `acr` (OpenID Connect Core §2) that is
 * accepted. Claims of another form report none.
 */
export function factorIn(
  { amr, acr, auth_time: askedAt }: Claims,
  { factorMethods, factorContexts }: { factorMethods: readonly string[]; factorContexts: readonly string[] },
): ProviderFactor | undefined {
  const methods: unknown[] = Array.isArray(amr) && amr.every((each) => typeof each === "string") ? amr : [];
  const isAccepted =
    methods.some((each) => factorMethods.includes(each as string)) ||
    (typeof acr === "string" && factorContexts.includes(acr));
  if (!isAccepted) return undefined;
  if (askedAt === undefined) return {};
  return typeof askedAt === "number" && Number.isFinite(askedAt) && askedAt > 0 ? { at: askedAt * 1000 } : undefined;
}
