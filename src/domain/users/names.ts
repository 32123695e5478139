// The rules of usernames, real names and email addresses.
import { emailAddress, further, label, urlName } from "../kernel/values.js";
import { longestName, longestRealName } from "../../entities/lengths.js";

/** Names of users in URLs. */
export const usernameValue = urlName(longestName);

/** Names of users as people write them. */
export const realName = label(longestRealName);

/** The domain of the addresses of users whose own one another user took. No mail is delivered to it (RFC 2606 §2). */
const formerDomain = "former.invalid";

/** The address of a user whose own one another user took. */
export const formerAddress = (userId: string): string => `${userId}@${formerDomain}`;

/** Whether an address is one that receives no mail, since another user took that of the user. */
export const isFormerAddress = (email: string): boolean => email.toLowerCase().endsWith(`@${formerDomain}`);

/** An address that a user is to get. */
export const newEmail = further(emailAddress, (text) =>
  isFormerAddress(text) ? `Addresses at ${formerDomain} are reserved.` : undefined,
);
