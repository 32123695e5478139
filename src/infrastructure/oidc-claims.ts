import { foldCase } from "../runtime/text.js";

/** Claims about a user, from an ID token or a UserInfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>;

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
