import { randomBytes } from "node:crypto";
import { cleanLabel } from "../../runtime/text.js";
import { longestLabel } from "../../entities/lengths.js";

/** Maximum lengths of the part of a name that comes from a prompt, and of display names, in characters. */
const longest = { slug: 27, displayName: longestLabel };

/**
 * Derives the name of a task from its prompt: its words in lower case, as many as fit, and four random hexadecimal digits,
 * `fix-the-login-bug-1a2b`.
 */
export function nameFor(prompt: string): string {
  const words = prompt.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  let slug = "";
  for (const word of words) {
    const next = slug === "" ? word : `${slug}-${word}`;
    if (next.length > longest.slug) break;
    slug = next;
  }
  return `${slug || "task"}-${randomBytes(2).toString("hex")}`;
}

/** Derives the display name of a task from the first line of its prompt; from its name without a prompt. */
export function displayNameFor(prompt: string, name: string): string {
  const [line = ""] = prompt.trim().split(/[\r\n\u2028\u2029]/, 1);
  const characters = Array.from(cleanLabel(line, line.length).replace(/\s+/gu, " "));
  if (characters.length === 0) return name;
  const cut =
    characters.length > longest.displayName
      ? `${characters
          .slice(0, longest.displayName - 1)
          .join("")
          .trimEnd()}…`
      : characters.join("");
  const [first = "", ...rest] = Array.from(cut);
  return Array.from(first.toUpperCase()).length === 1 ? first.toUpperCase() + rest.join("") : cut;
}
