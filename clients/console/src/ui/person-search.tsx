// A field that finds people by what is typed.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { inSentences } from "../api/errors";
import { useLatest } from "../api/hooks";
import { Person } from "./parts";

interface Found {
  id: string;
  username: string;
  name: string;
}

interface PersonSearchProps {
  label: string;
  find: (search: string) => Promise<readonly Found[] | undefined>;
  onChosen: (person: Found) => unknown;
}

export function PersonSearch({ label, find, onChosen }: PersonSearchProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [result, setResult] = useState<{ search: string; people?: readonly Found[]; fault?: string }>();
  const search = text.trim();
  const findNow = useLatest(find);
  useEffect(() => {
    if (!search) return undefined;
    let isOver = false;
    const show = (what: { people?: readonly Found[]; fault?: string }) => !isOver && setResult({ search, ...what });
    const timer = setTimeout(
      () =>
        void findNow(search).then(
          (people) => show({ people }),
          (error) => show({ fault: inSentences(error) }),
        ),
      200,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [search, findNow]);
  // Never those who were found for another text.
  const shown = result?.search === search ? result : undefined;
  const found = shown?.people ?? [];
  return (
    <div class="add">
      <label class="hidden" for={id}>
        {label}
      </label>
      <input
        ref={input}
        id={id}
        type="search"
        placeholder={label}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      {search && (
        <ul aria-label="Found users">
          {found.length === 0 && <li class="faint">{shown ? (shown.fault ?? "No one is found.") : "Searching…"}</li>}
          {found.map((person) => (
            <li key={person.id}>
              <button
                type="button"
                class="plain"
                onClick={() => {
                  // The button goes away. A dialog that opens returns the focus to where it was before.
                  input.current?.focus();
                  setText("");
                  void onChosen(person);
                }}
              >
                <Person user={person} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
