// The groups of a rule: those that are chosen, and a search for others.
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../api/client";
import { inSentences } from "../api/errors";
import { useData } from "../api/hooks";
import { Entry } from "../ui/entry";
import { titleOf } from "../ui/text";
import { FindGroups, type FindGroupsQuery, GroupsOfClaims } from "./provider-claims.gql";

type Group = Omit<FindGroupsQuery["groups"]["nodes"][number], "isEveryone">;

/** The groups whose names are known, by their IDs. */
export interface KnownGroups {
  get: (id: string) => Group | undefined;
  add: (group: Group) => void;
}

/** Most groups whose names are read; others are shown by their IDs. */
const mostNamed = 200;

const isId = (ref: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(ref);

/** Reads the names of the groups that mappings name. */
export function useKnownGroups(refs: readonly string[]): KnownGroups {
  const ids = [...new Set(refs.filter(isId))].slice(0, mostNamed);
  const { data } = useData(GroupsOfClaims, ids.length > 0 ? { ids } : undefined);
  const [found, setFound] = useState<readonly Group[]>([]);
  const known = new Map([...(data?.groups.nodes ?? []), ...found].map((group) => [group.id, group]));
  return {
    get: (id) => known.get(id),
    add: (group) => setFound((before) => [...before, group]),
  };
}

interface GroupChoiceProps {
  groups: KnownGroups;
  chosen: readonly string[];
  fault?: string;
  onChange: (chosen: readonly string[]) => void;
}

export function GroupChoice({ groups, chosen, fault, onChange }: GroupChoiceProps) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const search = text.trim();
  const found = useSearch(search);
  const offered = found?.groups?.filter((each) => !each.isEveryone && !chosen.includes(each.id));
  const nameOf = (ref: string) => {
    const group = groups.get(ref);
    return group ? titleOf(group) : ref;
  };
  return (
    <Entry class="groups-of-rule" label="Join the groups" fault={fault}>
      {(shared) => (
        <>
          {chosen.length > 0 && (
            <ul class="chips" aria-label="Groups of the rule">
              {chosen.map((ref) => (
                <li key={ref}>
                  <bdi>{nameOf(ref)}</bdi>
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Without the group ${nameOf(ref)}`}
                    onClick={() => {
                      input.current?.focus();
                      onChange(chosen.filter((each) => each !== ref));
                    }}
                  >
                    <span aria-hidden="true">×</span>
                  </button>
                </li>
              ))}
            </ul>
          )}
          <div class="add">
            <input
              {...shared}
              ref={input}
              type="search"
              placeholder="Search by name"
              autoComplete="off"
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
              onKeyDown={(event) => {
                // Enter takes the first one that is found, and sends nothing.
                if (event.key !== "Enter") return;
                event.preventDefault();
                const [first] = offered ?? [];
                if (first) take(first);
              }}
            />
            {search && (
              <ul aria-label="Found groups">
                {!offered?.length && (
                  <li class="faint">{found ? (found.fault ?? "No other group is found.") : "Searching…"}</li>
                )}
                {offered?.map((group) => (
                  <li key={group.id}>
                    <button type="button" class="plain" onClick={() => take(group)}>
                      <span>
                        <bdi>{titleOf(group)}</bdi>{" "}
                        <span class="faint">
                          {group.organization.name}/{group.name}
                        </span>
                      </span>
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </div>
        </>
      )}
    </Entry>
  );

  function take(group: Group) {
    // The button goes away.
    input.current?.focus();
    setText("");
    groups.add(group);
    onChange([...chosen, group.id]);
  }
}

interface Found {
  search: string;
  groups?: FindGroupsQuery["groups"]["nodes"];
  fault?: string;
}

/** The groups that are found for a text; undefined while they are searched. */
function useSearch(search: string): Found | undefined {
  const [found, setFound] = useState<Found>();
  useEffect(() => {
    if (!search) return undefined;
    let isOver = false;
    const show = (result: Omit<Found, "search">) => !isOver && setFound({ search, ...result });
    const timer = setTimeout(
      () =>
        void ask(FindGroups, { search }).then(
          ({ groups }) => show({ groups: groups.nodes }),
          (error) => show({ fault: inSentences(error) }),
        ),
      200,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [search]);
  return found?.search === search ? found : undefined;
}
