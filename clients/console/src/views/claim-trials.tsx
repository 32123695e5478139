// What claims would do to people, before they are applied.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { ask } from "../api/client";
import { Entry } from "../ui/entry";
import { Panel, Time } from "../ui/parts";
import { countOf } from "../ui/text";
import { FindPeople, type TryClaimMappingsMutation } from "./provider-claims.gql";

export type Trial = TryClaimMappingsMutation["tryClaimMappings"];

interface TrialPanelProps {
  /** Tries what the form has, for one person or for all. */
  run: (user: string) => Promise<Trial | undefined>;
  /** Whether the form has changed since the trial. */
  isOld: (trial: Trial) => boolean;
  children?: ComponentChildren;
}

/** Tries mappings on the last sign-ins, beside the form. */
export function TrialPanel({ run, isOld, children }: TrialPanelProps) {
  const id = useId();
  const [user, setUser] = useState("");
  const [people, setPeople] = useState<ReadonlyArray<{ username: string; name: string }>>([]);
  const [trial, setTrial] = useState<Trial>();
  const [isBusy, setBusy] = useState(false);
  const find = (search: string) =>
    void ask(FindPeople, { search }).then(
      ({ users }) => setPeople(users.nodes),
      // It can be typed without suggestions.
      () => setPeople([]),
    );
  const go = async () => {
    setBusy(true);
    setTrial(await run(user.trim()));
    setBusy(false);
  };
  return (
    <Panel title="What would change">
      <p class="faint">
        Tries what the form has now on the claims of the last sign-ins. Nothing is saved or changed by it.
      </p>
      <form
        class="try"
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <Entry label="Person" hint="A username. Empty: all who signed in last.">
          {(shared) => (
            <>
              <input
                {...shared}
                value={user}
                list={id}
                autoComplete="off"
                onInput={({ currentTarget: { value } }) => {
                  setUser(value);
                  if (value.trim()) find(value.trim());
                }}
              />
              <datalist id={id}>
                {people.map(({ username, name }) => (
                  <option key={username} value={username}>
                    {name || username}
                  </option>
                ))}
              </datalist>
            </>
          )}
        </Entry>
        <button type="submit" disabled={isBusy}>
          Try it
        </button>
      </form>
      <div aria-live="polite">{trial && <Results trial={trial} isOld={isOld(trial)} />}</div>
      {children}
    </Panel>
  );
}

function Results({ trial: { people, skippedCount }, isOld }: { trial: Trial; isOld: boolean }) {
  const changed = people.filter(({ effects }) => effects.length > 0);
  return (
    <div class={isOld ? "results old" : "results"}>
      {isOld && <p class="faint">The form has changed since. Try it again.</p>}
      {people.length === 0 ? (
        <p class="empty">
          No claims to try it on. They are kept from the next sign-in on, while claims are saved and not applied.
        </p>
      ) : (
        <p>
          <b>
            {changed.length === 0 ? "Nothing" : `${changed.length} of ${countOf(people.length, "person", "people")}`}
          </b>{" "}
          would change.
        </p>
      )}
      <ul class="people">
        {people.map(({ username, signedInAt, effects }) => (
          <li key={username}>
            <header>
              <bdi>{username}</bdi>
              <span class="faint">
                <Time at={signedInAt} />
              </span>
            </header>
            {effects.length === 0 && <p class="faint">no change</p>}
            <ul>
              {effects.map(({ text, isWarning }) => (
                <li key={text} class={isWarning ? "effect warns" : `effect ${directionOf(text)}`}>
                  {text}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {skippedCount > 0 && (
        <p class="faint">{countOf(skippedCount, "person", "people")} signed in before claims were kept.</p>
      )}
    </div>
  );
}

/** Tells by its words if an effect gives or takes something. */
const directionOf = (text: string) => (text.startsWith("leaves") || text.endsWith("no longer)") ? "takes" : "gives");
