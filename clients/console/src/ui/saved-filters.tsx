// Filters of lists that a user has saved under a name. The browser keeps them, for each user and list.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { InvalidInput } from "../api/errors";
import { callerId } from "../api/session";
import { useSignal } from "../api/signal";
import { FormDialog } from "./form";
import { complain, say } from "./notices";
import type { Place } from "./place";

interface SavedFilter {
  name: string;
  /** The filters and the order, as in the address. */
  search: string;
}

/** Filters that a user can save for a list. */
const mostFilters = 20;
const longestName = 40;
const longestSearch = 1_000;

const isSavedFilter = (each: unknown): each is SavedFilter => {
  const { name, search } = (each ?? {}) as Partial<SavedFilter>;
  return (
    typeof name === "string" &&
    name.length > 0 &&
    name.length <= longestName &&
    typeof search === "string" &&
    search.length > 0 &&
    search.length <= longestSearch
  );
};

/** Reads what is stored under a key. Whatever is not a saved filter is ignored. */
function read(key: string): readonly SavedFilter[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    if (!Array.isArray(stored)) return [];
    const filters = stored.filter(isSavedFilter);
    return filters
      .filter(({ name }, at) => filters.findIndex((each) => each.name === name) === at)
      .slice(0, mostFilters);
  } catch {
    return []; // Not JSON, or the browser keeps nothing for this site.
  }
}

/** Stores filters. Throws if the browser keeps nothing for this site. */
function write(key: string, filters: readonly SavedFilter[]): void {
  if (filters.length > 0) localStorage.setItem(key, JSON.stringify(filters));
  else localStorage.removeItem(key);
}

/** The saved filters of the caller for a list, and a function that changes what is stored at that moment. */
function useSavedFilters(view: string) {
  const caller = useSignal(callerId);
  const key = caller && `steward.filters ${caller} ${view}`;
  const [filters, setFilters] = useState<readonly SavedFilter[]>([]);
  useEffect(() => {
    const update = () => setFilters(key ? read(key) : []);
    update();
    // Another tab has changed them.
    addEventListener("storage", update);
    return () => removeEventListener("storage", update);
  }, [key]);
  const change = (changed: (before: readonly SavedFilter[]) => readonly SavedFilter[]) => {
    if (!key) return;
    write(key, changed(read(key)));
    setFilters(read(key));
  };
  return { isKnown: key !== undefined, filters, change };
}

/** The saved filters of a list as links, and buttons that save the present one, or clear it. */
export function SavedFilters({ place: { path, search } }: { place: Place }) {
  const { isKnown, filters, change } = useSavedFilters(path);
  const [isNaming, setNaming] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  // What was pressed is gone afterwards: the filter that was saved gets the focus, or what is left.
  const [focus, setFocus] = useState<{ name?: string }>();
  const saved = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    if (!focus) return;
    const links = [...(box.current?.querySelectorAll("a") ?? [])];
    (links.find((link) => link.textContent === focus.name) ?? links[0] ?? document.querySelector("h1"))?.focus();
  }, [focus]);

  const isNew = search !== "" && !filters.some((each) => each.search === search);
  const isSavable = isKnown && isNew && filters.length < mostFilters && search.length <= longestSearch;
  if (filters.length === 0 && search === "") return null;

  async function save({ name: text }: Record<string, unknown>): Promise<void> {
    const name = String(text ?? "").trim();
    const fault =
      name === ""
        ? "Is required."
        : name.length > longestName
          ? `Must have at most ${longestName} characters.`
          : filters.some((each) => each.name === name)
            ? "Is the name of another saved filter."
            : undefined;
    if (fault) throw new InvalidInput([{ field: "name", detail: fault }]);
    try {
      change((before) => [...before, { name, search }]);
    } catch {
      throw new InvalidInput([{ field: "name", detail: "Cannot be saved: this browser keeps nothing for this site." }]);
    }
    saved.current = name;
  }

  function remove(filter: SavedFilter): void {
    try {
      change((before) => before.filter(({ name }) => name !== filter.name));
    } catch {
      complain("This browser keeps nothing for this site.");
      return;
    }
    setFocus({});
    say(`The filter ${filter.name} is deleted.`, async () =>
      change((before) => [...before.filter(({ name }) => name !== filter.name), filter]),
    );
  }

  return (
    <div ref={box} class="saved">
      {filters.length > 0 && (
        <ul aria-label="Saved filters">
          {filters.map((filter) => (
            <li key={filter.name}>
              <a href={`${path}?${filter.search}`} aria-current={filter.search === search ? "true" : undefined}>
                {filter.name}
              </a>
              <button
                type="button"
                class="plain"
                aria-label={`Delete the filter ${filter.name}`}
                onClick={() => remove(filter)}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {isSavable && (
        <button type="button" class="plain" aria-haspopup="dialog" onClick={() => setNaming(true)}>
          Save this filter
        </button>
      )}
      {search !== "" && (
        <a class="button plain" href={path}>
          Clear filters
        </a>
      )}
      {isNaming && (
        <FormDialog
          title="Save this filter"
          note="This browser keeps it for you, and shows it above the list."
          fields={[{ name: "name", isRequired: true }]}
          submit="Save"
          onSubmit={save}
          onClose={() => {
            setNaming(false);
            if (saved.current) setFocus({ name: saved.current });
            saved.current = undefined;
          }}
        />
      )}
    </div>
  );
}
