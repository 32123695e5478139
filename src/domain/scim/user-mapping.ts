import { Problems } from "../kernel/errors.js";
import { cleanLabel, foldCase } from "../../runtime/text.js";
import { emailAddress, faultOf, icon, isValid } from "../kernel/values.js";
import type { AccountChange } from "../users/accounts.js";
import { checkSize, throwFaults } from "./scim-documents.js";
import type { Values } from "./evaluate.js";
import { fault } from "./faults.js";
import { scimLengths } from "../../entities/scim.js";
import { longestRealName } from "../../entities/lengths.js";

interface Entry {
  value?: string;
  type?: string;
  primary?: boolean;
}

/** A user as an identity provider wants it. */
export interface WantedUser {
  externalId: string | null;
  userName: string;
  active: boolean | undefined;
  /** The other attributes, which are kept. */
  kept: Values;
  /** The fields of the account that they set, except the username. */
  account: Required<Pick<AccountChange, "email" | "name" | "avatarUrl">> & { email: string };
}

/** Maximum length of the name of a user at an identity provider, in characters. */
export const longestUserName = scimLengths.userName;

/** Checks a whole user, and reads what it stands for. Throws `invalidValue`. */
export function wantedUser(resource: Values): WantedUser {
  const {
    userName,
    externalId = null,
    active,
    ...kept
  } = resource as Values & {
    userName?: string;
    externalId?: string | null;
    active?: boolean;
  };
  if (userName === undefined) throw fault("invalidValue", "Is required.", "userName");
  requireLength("userName", userName, scimLengths.userName);
  if (externalId !== null) requireLength("externalId", externalId, scimLengths.externalId);
  // A user without addresses is reached by its userName, if that is one.
  if (!kept.emails && isValid(emailAddress, userName)) kept.emails = [{ value: userName, type: "work", primary: true }];
  checkSize(kept);
  return {
    externalId,
    userName,
    active,
    kept,
    account: { email: emailOf(kept), name: nameOf(kept), avatarUrl: avatarOf(kept) },
  };
}

/** Throws `invalidValue` for changed emails unless there are some, each with its address. */
export function requireAddresses({ emails }: Values): void {
  const problems = new Problems();
  problems.add("emails", emails ? undefined : "Is required.");
  for (const [index, { value }] of ((emails ?? []) as Entry[]).entries())
    problems.add(`emails[${index}].value`, value === undefined ? "Is required." : undefined);
  throwFaults(problems);
}

export function requireLength(field: string, text: string, most: number): void {
  if (text.length > most && Array.from(text).length > most)
    throw fault("invalidValue", `Must be at most ${most} characters.`, field);
}

/** The primary address, else the first of type `work`, else the first. */
function emailOf({ emails }: Values): string {
  const entries = (emails ?? []) as Entry[];
  const entry =
    entries.find(({ primary }) => primary) ?? entries.find(({ type }) => foldCase(type ?? "") === "work") ?? entries[0];
  const problem = faultOf(emailAddress, entry?.value ?? "");
  if (problem) throw fault("invalidValue", problem, "emails");
  return entry!.value!;
}

/** The formatted name, else the display name, else given and family name; "" without any. */
function nameOf({ name, displayName }: Values): string {
  const { formatted, givenName, familyName } = (name ?? {}) as Record<string, string | undefined>;
  const full = formatted ?? (displayName as string | undefined) ?? [givenName, familyName].filter(Boolean).join(" ");
  return cleanLabel(full, longestRealName);
}

/** The primary photo, else the first, if it is an https URL. It is never fetched. */
function avatarOf({ photos }: Values): string {
  const entries = (photos ?? []) as Entry[];
  const { value = "" } = entries.find(({ primary }) => primary) ?? entries[0] ?? {};
  return /^https:\/\//i.test(value) && isValid(icon, value) ? value : "";
}

export function tooManyNames(): never {
  throw fault("invalidValue", "Too many users have a userName with this local part.", "userName");
}
