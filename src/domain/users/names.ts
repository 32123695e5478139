// The rules of usernames, real names and email addresses.
import { labelProblem, nameProblem } from "../kernel/text.js";

/** At most 32 letters, digits and single hyphens between them, and no reserved name. */
export const usernameProblem = (text: string): string | undefined => nameProblem(text);

/** At most 128 characters. */
export const realNameProblem = (text: string): string | undefined => labelProblem(text, 128);

// RFC 5321 addresses without quoted strings and address literals, Unicode included.
const emailPattern =
  /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*@(?!-)[\p{L}\p{M}\p{N}-]+(\.[\p{L}\p{M}\p{N}-]+)*$/u;

/** The domain of the addresses of users whose own one another user took. No mail is delivered to it (RFC 2606 §2). */
const formerDomain = "former.invalid";

/** The address of a user whose own one another user took. */
export const formerAddress = (userId: string): string => `${userId}@${formerDomain}`;

/** Whether an address is one that receives no mail, since another user took that of the user. */
export const isFormerAddress = (email: string): boolean => email.toLowerCase().endsWith(`@${formerDomain}`);

/** To be called with "" for an absent address. */
export const emailProblem = (text: string): string | undefined => {
  if (text === "") return "Is required.";
  return Buffer.byteLength(text) <= 254 && emailPattern.test(text)
    ? undefined
    : "Must be one email address of at most 254 bytes.";
};

/** `emailProblem` of an address that a user is to get. */
export const newEmailProblem = (text: string): string | undefined =>
  isFormerAddress(text) ? `Addresses at ${formerDomain} are reserved.` : emailProblem(text);
