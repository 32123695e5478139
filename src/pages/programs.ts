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
