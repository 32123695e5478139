// What a user opened by the search, latest first. The browser keeps it, for each user.

/** A page or an object that the search leads to. */
export interface Hit {
  href: string;
  /** The kind of object, or where the navigation has the page. */
  group: string;
  title: string;
  note: string;
}

const most = 6;
const longest = 300;

const keyOf = (caller: string) => `steward.recent ${caller}`;

const isText = (each: unknown) => typeof each === "string" && each.length <= longest;

/** Only paths of this console are followed, whatever is stored. */
const isHit = (each: unknown): each is Hit => {
  const { href, group, title, note } = (each ?? {}) as Partial<Hit>;
  return [href, group, title, note].every(isText) && /^\/(?![/\\])/.test(href!) && title !== "";
};

/** Reads what a user opened. Whatever else is stored is ignored. */
export function readRecent(caller: string | undefined): readonly Hit[] {
  try {
    const stored: unknown = JSON.parse((caller && localStorage.getItem(keyOf(caller))) || "[]");
    return Array.isArray(stored) ? stored.filter(isHit).slice(0, most) : [];
  } catch {
    return []; // Not JSON, or the browser keeps nothing for this site.
  }
}

export function remember(caller: string | undefined, hit: Hit): void {
  if (!caller) return;
  const others = readRecent(caller).filter(({ href }) => href !== hit.href);
  try {
    localStorage.setItem(keyOf(caller), JSON.stringify([hit, ...others].slice(0, most)));
  } catch {
    // The browser keeps nothing for this site: the search works without it.
  }
}
