import { hasZone } from "../../runtime/time-zones/zone-data.js";

const areas = new Set(
  "Africa America Antarctica Arctic Asia Atlantic Australia Brazil Canada Chile Etc Europe Indian Mexico Pacific US".split(
    " ",
  ),
);

/** The accepted names without an area. Other abbreviations, such as PST and IST, are ambiguous. */
const withoutArea = (
  "CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran " +
  "Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK " +
  "Singapore Turkey UCT UTC Universal W-SU WET Zulu"
).split(" ");

/** Words of names that are not capitalized. */
const irregularWords =
  "ACT BajaNorte BajaSur ComodRivadavia DeNoronha DumontDUrville EasterIsland GMT IN LHI McMurdo NSW UCT US UTC au es of".split(
    " ",
  );

const byLowerCase = (names: readonly string[]) => new Map(names.map((name) => [name.toLowerCase(), name]));
const bareNames = byLowerCase(withoutArea);
const irregular = byLowerCase(irregularWords);

const spellName = (name: string) =>
  name.toLowerCase().replace(/[a-z]+/g, (word) => irregular.get(word) ?? word.charAt(0).toUpperCase() + word.slice(1));

/**
 * Returns the name of an IANA time zone in IANA's spelling, `undefined` if there is no such zone. Letter case does not
 * matter. Old names are kept, which `Intl` would replace: `us/pacific` is `US/Pacific`, not `America/Los_Angeles`.
 */
export function timeZoneNamed(text: string): string | undefined {
  if (!/^[\w+/-]{1,40}$/.test(text)) return undefined;
  const bare = bareNames.get(text.toLowerCase());
  if (bare !== undefined) return bare;
  const name = spellName(text);
  return areas.has(name.slice(0, name.indexOf("/"))) && hasZone(name) ? name : undefined;
}
