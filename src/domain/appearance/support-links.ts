import { iconProblem, isStorable, proseProblem, urlProblem } from "../kernel/text.js";

/** A help link that clients show. */
export interface SupportLink {
  name: string;
  target: string;
  /** One of `icons`, which clients have built in, or a URL. */
  icon: string;
  location: string;
}

const icons = ["bug", "chat", "docs", "star"];
const locations = ["navbar", "dropdown"];
const maxLinks = 20;

/** The format that `readSupportLinks` accepts. Completes "must be". */
export const supportLinksRule =
  `a JSON array of at most ${maxLinks} objects with name (1 to 64 characters), target (an http or https URL), ` +
  `icon (${icons.join(", ")} or a URL; docs) and location (${locations.join(" or ")}; navbar)`;

/** Parses the links of a setting; `undefined` if it is invalid. */
export function readSupportLinks(text: string): SupportLink[] | undefined {
  const value = parsed(text);
  if (!Array.isArray(value) || value.length > maxLinks) return undefined;
  const links = value.map(readLink);
  return links.includes(undefined) ? undefined : (links as SupportLink[]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readLink(value: unknown): SupportLink | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, target, icon = "docs", location = "navbar", ...others } = value as Record<string, unknown>;
  const texts = { name, target, icon, location };
  if (Object.keys(others).length > 0 || !areTexts(texts)) return undefined;
  const isValid =
    texts.name.trim() !== "" &&
    proseProblem(texts.name, 64) === undefined &&
    urlProblem(texts.target) === undefined &&
    (icons.includes(texts.icon) || (texts.icon !== "" && iconProblem(texts.icon) === undefined)) &&
    locations.includes(texts.location);
  return isValid ? texts : undefined;
}

const areTexts = (values: Record<keyof SupportLink, unknown>): values is Record<keyof SupportLink, string> =>
  Object.values(values).every((each) => typeof each === "string" && isStorable(each));
