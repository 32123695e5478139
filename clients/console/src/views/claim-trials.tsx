import { useState } from "preact/hooks";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { Time } from "../ui/parts";
import { countOf } from "../ui/text";
import { TryClaimMappings, type TryClaimMappingsMutation } from "./sign-in-providers.gql";

type Trial = TryClaimMappingsMutation["tryClaimMappings"];

/** Shows what the mappings of a provider would do to the people who signed in last. */
export function TryClaims({ provider }: { provider: string }) {
  const [trial, setTrial] = useState<Trial>();
  return (
    <>
      <Action
        label="Try claims"
        on={provider}
        run={TryClaimMappings}
        given={{ provider }}
        done={({ tryClaimMappings }) => setTrial(tryClaimMappings)}
      />
      {trial && (
        <Dialog title={`Claims of the last sign-ins through ${provider}`} onClose={() => setTrial(undefined)}>
          <p>Nothing was changed. This is what a sign-in with the same claims would do now.</p>
          <People trial={trial} />
          <button type="button" onClick={() => setTrial(undefined)}>
            Close
          </button>
        </Dialog>
      )}
    </>
  );
}

function People({ trial: { people, skippedCount } }: { trial: Trial }) {
  return (
    <>
      {people.length === 0 && <p>No claims were kept yet. They are kept from the next sign-in on.</p>}
      {people.length > 0 && (
        <dl>
          {people.map(({ username, signedInAt, effects }) => (
            <div key={username}>
              <dt>
                {username} <Time at={signedInAt} />
              </dt>
              {effects.length === 0 && <dd class="faint">no change</dd>}
              {effects.map(({ text, isWarning }) => (
                <dd key={text} class={isWarning ? "fault" : undefined}>
                  {text}
                </dd>
              ))}
            </div>
          ))}
        </dl>
      )}
      {skippedCount > 0 && (
        <p class="faint">{countOf(skippedCount, "person", "people")} signed in before claims were kept.</p>
      )}
    </>
  );
}
