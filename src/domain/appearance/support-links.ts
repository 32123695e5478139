import * as z from "zod/mini";
import { jsonIn } from "../../runtime/json.js";
import { faultOf, icon, label, textBy, httpUrl } from "../kernel/values.js";

const icons = ["bug", "chat", "docs", "star"];
const locations = ["navbar", "dropdown"];
const maxLinks = 20;

/** The format that `readSupportLinks` accepts. Completes "must be". */
export const supportLinksRule =
  `a JSON array of at most ${maxLinks} objects with name (1 to 64 characters), target (an http or https URL), ` +
  `icon (${icons.join(", ")} or a URL; docs) and location (${locations.join(" or ")}; navbar)`;

const link = z.strictObject({
  name: textBy((given) => (given.trim() === "" ? "Is required." : faultOf(label(64), given))),
  target: httpUrl,
  /** One of `icons`, which clients have built in, or a URL. */
  icon: z.prefault(
    textBy((given) => (icons.includes(given) ? undefined : faultOf(icon, given || " "))),
    "docs",
  ),
  location: z.prefault(
    textBy((given) => (locations.includes(given) ? undefined : "Is not known.")),
    "navbar",
  ),
});

const links = z.array(link).check(z.maxLength(maxLinks));

/** A help link that clients show. */
export type SupportLink = z.output<typeof link>;

/** Parses the links of a setting; `undefined` if it is invalid. */
export const readSupportLinks = (given: string): SupportLink[] | undefined => z.safeParse(links, jsonIn(given)).data;
