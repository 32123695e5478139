import { badInput, conflictOn, DomainError, forbidden } from "../kernel/errors.js";

/** The kinds of faults in requests (RFC 7644 §3.12, RFC 9865 §2.1). */
export type ScimType =
  | "invalidSyntax"
  | "invalidValue"
  | "invalidFilter"
  | "invalidPath"
  | "noTarget"
  | "mutability"
  | "tooMany"
  | "invalidCursor"
  | "expiredCursor"
  | "invalidCount";

/** Returns BAD_USER_INPUT of a kind. `field` is the attribute or parameter at fault, if there is one. */
export function fault(scimType: ScimType, detail: string, field?: string): DomainError {
  const { message, details } = badInput(field === undefined ? [] : [{ field, detail }]);
  return new DomainError("BAD_USER_INPUT", message, { ...details, detail, scimType });
}

/** Returns CONFLICT over an attribute that another resource has. It does not disclose which one. */
export function notUnique(attribute: string): DomainError {
  const message = `Another resource has this ${attribute}.`;
  const { details } = conflictOn(attribute, message);
  return new DomainError("CONFLICT", message, { ...details, scimType: "uniqueness" });
}

/** Returns CONFLICT over a user who was suspended otherwise than by the provider, and so does not return by it. */
export const suspendedOtherwise = (): DomainError =>
  new DomainError("CONFLICT", "This user was suspended by an administrator, who has to activate it first.", {
    scimType: "uniqueness",
  });

/** The resource no longer has the version that the caller requires. */
export const versionMismatch = (): DomainError =>
  new DomainError("CONFLICT", "The resource has changed: its version differs from If-Match.", { precondition: true });

/** Attributes of accounts that belong to organizations beyond those of the key, which may not change them. */
export const beyondOrganizations = (): DomainError => forbidden("This user also belongs to other organizations.");

/** Attributes of accounts with a role in the deployment, which an identity provider must not change. */
export const privilegedAccount = (): DomainError =>
  forbidden("Forbidden.", {
    detail: "The account has a role in the deployment: only its status can be changed, not its name or email.",
  });
