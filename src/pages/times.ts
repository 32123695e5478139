import { databaseTime } from "../clock.js";
import { type Html, html } from "./html.js";

const units: ReadonlyArray<[unit: Intl.RelativeTimeFormatUnit, seconds: number]> = [
  ["year", 31_536_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en");

/** A time relative to now, since the page does not know the time zone of its reader: `3 days ago`, `in 2 hours`. */
export function timeOf(time: string, now = databaseTime()): Html {
  const seconds = Math.trunc((Date.parse(time) - now) / 1000);
  const [unit, length] = units.find((each) => Math.abs(seconds) >= each[1]) ?? [];
  const near = seconds > 0 ? "in less than a minute" : "just now";
  const text = unit === undefined ? near : relative.format(Math.round(seconds / length!), unit);
  return html`<time datetime="${time}" title="${time}">${text}</time>`;
}
