// The search over everything, for the keyboard: pages, objects of all kinds by their names, and what was opened before.
// oxlint-disable jsx-a11y/prefer-tag-over-role -- a combobox with groups of links as options has no elements of its own
import { useLocation } from "preact-iso";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api/client";
import { inSentences } from "./api/errors";
import { useLatest } from "./api/hooks";
import { callerId } from "./api/session";
import { Find } from "./palette.gql";
import type { FindQuery } from "./palette.gql";
import { readRecent, type Hit, remember } from "./recent";
import { titleOf } from "./ui/text";

/** Milliseconds without a keystroke before a search begins. */
const hesitation = 120;

/** Pages that are shown for a text. */
const mostPages = 5;

type Found = FindQuery["search"][number];

/** The kinds of objects in their order, with the path of each. */
const kinds: ReadonlyArray<[kind: Found["kind"], title: string, path: string]> = [
  ["WORKSPACE", "Workspaces", "/workspaces"],
  ["TASK", "Tasks", "/tasks"],
  ["TEMPLATE", "Templates", "/templates"],
  ["USER", "Users", "/users"],
  ["GROUP", "Groups", "/groups"],
  ["APPLICATION", "Applications", "/applications"],
];

function hitOf(found: Found): Hit {
  const { kind, id, name, ownerName, organizationName } = found;
  const [, group = "", path = ""] = kinds.find(([each]) => each === kind) ?? [];
  const title = titleOf(found);
  const note = [title === name ? "" : name, ownerName, organizationName].filter(Boolean).join(" · ");
  return { href: `${path}/${id}`, group, title, note };
}

const contains = ({ title, note }: Hit, text: string) => `${title} ${note}`.toLowerCase().includes(text.toLowerCase());

/**
 * The hits for a text as it is typed. Until those of a new text arrive, the ones of the text before that contain it as well
 * stay, so that nothing flickers.
 */
function useHits(text: string) {
  const [result, setResult] = useState<{ text: string; hits: readonly Hit[]; fault?: string }>({ text: "", hits: [] });
  useEffect(() => {
    if (!text) return undefined;
    let isOver = false;
    const show = (what: { hits: readonly Hit[]; fault?: string }) => !isOver && setResult({ text, ...what });
    const timer = setTimeout(
      () =>
        void ask(Find, { text }).then(
          ({ search }) => show({ hits: search.map(hitOf) }),
          (error) => show({ hits: [], fault: inSentences(error) }),
        ),
      hesitation,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text]);
  const isLoading = text !== "" && result.text !== text;
  const hits = text === "" ? [] : isLoading ? result.hits.filter((hit) => contains(hit, text)) : result.hits;
  return { hits, isLoading, fault: isLoading ? undefined : result.fault };
}

interface PaletteProps {
  /** The pages that the caller may open. */
  pages: readonly Hit[];
  onClose: () => void;
}

export function Palette({ pages, onClose }: PaletteProps) {
  const id = useId();
  const { route } = useLocation();
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState("");
  const [moved, setMoved] = useState<string>();
  // Enter was pressed before the first hit was there.
  const [isWaiting, setWaiting] = useState(false);
  const [recent] = useState(() => readRecent(callerId.value));
  const text = typed.trim();
  const { hits, isLoading, fault } = useHits(text);

  // Before anything else is typed.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  const known = recent.filter((hit) => contains(hit, text));
  // Members find applications, but their pages are for administrators.
  const opens = ({ href, group }: Hit) => group !== "Applications" || pages.some((page) => href.startsWith(page.href));
  const others = (some: readonly Hit[]) => some.filter(({ href }) => !known.some((hit) => hit.href === href));
  const found = others(pages.filter((hit) => contains(hit, text)));
  const groups = [
    { title: "Recent", hits: known },
    { title: "Pages", hits: text ? found.slice(0, mostPages) : found },
    ...kinds.map(([, title]) => ({ title, hits: others(hits.filter((hit) => hit.group === title && opens(hit))) })),
  ].filter((group) => group.hits.length > 0);
  const all = groups.flatMap((group) => group.hits);
  const at = Math.max(
    0,
    all.findIndex(({ href }) => href === moved),
  );
  const active = all[at];

  const open = (hit: Hit) => {
    remember(callerId.value, hit);
    dialog.current?.close();
    route(hit.href);
  };
  const openAwaited = useLatest(() => {
    if (!isWaiting) return;
    setWaiting(false);
    if (active) open(active);
  });
  useEffect(() => {
    if (!isLoading) openAwaited();
  }, [isLoading, openAwaited]);
  const move = (by: number) => all.length > 0 && setMoved(all[(at + by + all.length) % all.length]!.href);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [active?.href]);

  function onKeyDown(event: KeyboardEvent) {
    if (event.isComposing) return;
    const keys: Record<string, () => unknown> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => (active ? open(active) : setWaiting(isLoading)),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  const optionId = (hit: Hit) => `${id}-${all.indexOf(hit)}`;
  const state = fault ?? (all.length > 0 ? "" : isLoading ? "Searching…" : "Nothing is found.");
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search"
      closedby="any"
      // Browsers report it a frame later, and a key before that would open it for nothing.
      onCancel={({ currentTarget }) => {
        currentTarget.close();
        onClose();
      }}
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Search for pages and objects"
        aria-autocomplete="list"
        aria-expanded={all.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={active && optionId(active)}
        placeholder="Search workspaces, tasks, templates, people, pages…"
        autocomplete="off"
        spellcheck={false}
        maxLength={64}
        value={typed}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setMoved(undefined);
          setWaiting(false);
        }}
        onKeyDown={onKeyDown}
      />
      <output class={state ? "state" : "hidden"}>{state || (isLoading ? "" : `${all.length} found`)}</output>
      <div id={`${id}-list`} class="hits" role="listbox" aria-label="Found" aria-busy={isLoading}>
        {groups.map((group) => (
          <div key={group.title} role="group" aria-label={group.title}>
            <p class="kind" aria-hidden="true">
              {group.title}
            </p>
            {group.hits.map((hit) => (
              <a
                key={hit.href}
                id={optionId(hit)}
                href={hit.href}
                role="option"
                tabIndex={-1}
                aria-selected={hit === active}
                onClick={(event) => {
                  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                  event.preventDefault();
                  open(hit);
                }}
              >
                <bdi>{hit.title}</bdi>
                {hit.note && <bdi class="faint">{hit.note}</bdi>}
              </a>
            ))}
          </div>
        ))}
      </div>
      <p class="keys faint" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}
