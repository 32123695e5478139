import { type Html, html, type Part } from "./html.js";

/** An object in a list of the account. */
export interface Item {
  title: Part;
  badge?: Part;
  /** Properties, each on a line of its own. */
  lines: Part[];
  /** Links and forms. */
  actions: Part;
}

/** A list of objects with what the user can do to each. */
export const listOf = (items: readonly Item[]): Html =>
  html`<ul class="items">
    ${items.map(
      ({ title, badge, lines, actions }) =>
        html`<li>
          <div>
            <div class="title">${title} ${badge}</div>
            ${lines.map((line) => html`<div>${line}</div>`)}
          </div>
          <div class="actions">${actions}</div>
        </li>`,
    )}
  </ul>`;

/** Characters of a user agent that are shown. */
const longest = 40;

const browsers: ReadonlyArray<[name: string, pattern: RegExp]> = [
  ["Edge", /\bEdg(e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /(Chrome|Chromium|CriOS)\//],
  ["Safari", /\bSafari\//],
];

const systems: ReadonlyArray<[name: string, pattern: RegExp]> = [
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /Linux/],
];

/** The program behind a User-Agent header, as far as it can be recognized: `Firefox on Linux`, or `curl`. */
export function programOf(userAgent: string | null): string {
  const find = (names: typeof browsers) => names.find(([, pattern]) => pattern.test(userAgent ?? ""))?.[0];
  const browser = find(browsers);
  const system = find(systems);
  if (browser) return system ? `${browser} on ${system}` : browser;
  return /^[\w.-]+/.exec(userAgent ?? "")?.[0].slice(0, longest) ?? "Unknown program";
}

const units: ReadonlyArray<[unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ["year", 31_536_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en");

/** A time relative to now, since the page does not know the time zone of its reader: `3 days ago`, `in 2 hours`. */
export function timeOf(time: string, now = Date.now()): Html {
  const seconds = Math.trunc((Date.parse(time) - now) / 1000);
  const [unit, length] = units.find((each) => Math.abs(seconds) >= each[1]) ?? [];
  const near = seconds > 0 ? "in less than a minute" : "just now";
  const text = unit === undefined ? near : relative.format(Math.round(seconds / length!), unit);
  return html`<time datetime="${time}" title="${time}">${text}</time>`;
}
