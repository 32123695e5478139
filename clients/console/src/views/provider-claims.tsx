// The claims of a provider that give groups, organizations, and roles, with a trial of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { describe, type Validation } from "../api/errors";
import { useData } from "../api/hooks";
import { useUnsaved } from "../api/session";
import { Action } from "../ui/action";
import { Entry } from "../ui/entry";
import { Failure } from "../ui/failure";
import { say } from "../ui/notices";
import { Heading, Loading } from "../ui/parts";
import {
  type ClaimDraft,
  checkDrafts,
  draftsIn,
  draftsOf,
  mappingsIn,
  mappingsOf,
  textOfMappings,
} from "./claim-drafts";
import { ClaimEditor, type FaultOf } from "./claim-editor";
import { useKnownGroups } from "./claim-groups";
import { type Trial, TrialPanel } from "./claim-trials";
import { useOrganizationOptions } from "./organization-choice";
import {
  type ClaimMappingInput,
  ProviderClaims,
  type ProviderClaimsQuery,
  SaveClaims,
  TestClaims,
  TryClaimMappings,
} from "./provider-claims.gql";

type Provider = NonNullable<ProviderClaimsQuery["identityProvider"]>;

export function ProviderClaimsView({ provider }: { provider: string }) {
  const { data, error, refresh } = useData(ProviderClaims, { provider });
  const found = data?.identityProvider;
  if (!found) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  return <Claims provider={found} />;
}

/** All that is filled in: claims in the form, or their text while they are edited as JSON. */
interface Filled {
  claims: readonly ClaimDraft[];
  json?: string;
  appliesClaims: boolean;
  locksGroups: boolean;
}

const filledFrom = ({ claimMappings, appliesClaims, locksGroups }: Provider): Filled => ({
  claims: draftsOf(claimMappings),
  appliesClaims,
  locksGroups,
});

/** The mappings of what is filled in. Throws what the form can tell to be wrong. */
function mappingsFrom({ claims, json }: Filled): ClaimMappingInput[] {
  if (json !== undefined) return mappingsIn(json);
  checkDrafts(claims);
  return mappingsOf(claims);
}

/** All that is filled in, as a text, to see whether it has changed. */
const stateOf = ({ claims, json, appliesClaims, locksGroups }: Filled) =>
  JSON.stringify([json ?? textOfMappings(mappingsOf(claims)), appliesClaims, locksGroups]);

/** The faults that the form shows at their field; others are shown above it. */
const shownAtField =
  /^(appliesClaims|locksGroups|claimMappings\[\d+\]\.(claim|separator|absent|empty|malformed|groupsOf|groupPattern|mostNewGroups|grants\[\d+\]\.(values|groups|organization|roles)))($|[.[])/;

function Claims({ provider }: { provider: Provider }) {
  const [filled, setFilled] = useState(() => filledFrom(provider));
  const [saved, setSaved] = useState(() => stateOf(filled));
  const [faults, setFaults] = useState<readonly Validation[]>([]);
  const [alarm, setAlarm] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [tried, setTried] = useState<{ trial: Trial; state: string }>();
  const form = useRef<HTMLFormElement>(null);
  const organizations = useOrganizationOptions();
  const groups = useKnownGroups(filled.claims.flatMap(({ grants }) => grants.flatMap((grant) => grant.groups)));
  const may = useAllowed({ update: { may: "sign_in_provider:update" } });
  const isFixed = provider.source !== "STORED";
  const state = stateOf(filled);
  const isChanged = state !== saved;
  useUnsaved(isChanged);
  useEffect(() => {
    if (faults.length > 0)
      form.current?.querySelector<HTMLElement>("[aria-invalid]:is(input, textarea, select)")?.focus();
  }, [faults]);

  const change = (changed: Partial<Filled>) => setFilled((before) => ({ ...before, ...changed }));
  const isJson = filled.json !== undefined;

  /** Shows the faults of an error: in the form, at their fields. */
  function show(error: unknown) {
    const { message, detail, validations } = describe(error);
    const named = validations.map(({ field, detail: rule }) => ({
      field: field.replace(/^input\./, ""),
      detail: rule,
    }));
    const apart = named.filter(({ field }) =>
      isJson ? !field.startsWith("claimMappings") : !shownAtField.test(field),
    );
    setFaults(named);
    const said = [
      ...(validations.length === 0 ? [message, detail] : []),
      ...apart.map((each) => (each.field === "claimMappings" ? each.detail : `${each.field}: ${each.detail}`)),
    ];
    setAlarm(said.filter(Boolean).join(" "));
  }

  /** Runs something with the mappings, and shows what is wrong with them. */
  async function withMappings<Result>(run: (claimMappings: ClaimMappingInput[]) => Promise<Result>) {
    setFaults([]);
    setAlarm("");
    try {
      return await run(mappingsFrom(filled));
    } catch (error) {
      show(error);
      return undefined;
    }
  }

  async function save() {
    setBusy(true);
    await withMappings(async (claimMappings) => {
      const { appliesClaims, locksGroups } = filled;
      await perform(SaveClaims, { input: { provider: provider.id, claimMappings, appliesClaims, locksGroups } });
      setSaved(state);
      say("Saved.");
    });
    setBusy(false);
  }

  const attemptOn = async (user: string) => {
    const done = await withMappings((claimMappings) =>
      perform(TryClaimMappings, {
        input: { provider: provider.id, claimMappings, ...(user !== "" && { user }) },
      }),
    );
    if (!done) return undefined;
    setTried({ trial: done.tryClaimMappings, state });
    return done.tryClaimMappings;
  };

  function turn() {
    if (filled.json === undefined) return change({ json: textOfMappings(mappingsOf(filled.claims)) });
    try {
      setFilled({ ...filled, claims: draftsIn(filled.json), json: undefined });
      setFaults([]);
      setAlarm("");
    } catch (error) {
      show(error);
    }
    return undefined;
  }

  const faultOf: FaultOf = (path) => {
    const own = faults.filter(
      ({ field }) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`),
    );
    return own.length === 0 ? undefined : [...new Set(own.map(({ detail }) => detail))].join(" ");
  };

  return (
    <>
      <Heading
        title={`Claims of ${provider.label}`}
        note="What people get here by what the provider says of them. Only what it gave is taken away by it."
        up={["/sign-in-providers", "Sign-in providers"]}
      >
        {!isFixed && may("update") && (
          <button type="button" onClick={turn}>
            {isJson ? "Edit in the form" : "Edit as JSON"}
          </button>
        )}
      </Heading>
      {isFixed && <p class="banner">The settings of the server declare this provider. Its claims are changed there.</p>}
      <div class="beside">
        <form
          ref={form}
          noValidate
          aria-label="Claims"
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          {alarm && (
            <p class="alarm" role="alert">
              {alarm}
            </p>
          )}
          <fieldset class="bare" disabled={isFixed || !may("update")}>
            {filled.json === undefined ? (
              <ClaimEditor
                claims={filled.claims}
                faultOf={faultOf}
                organizations={organizations}
                groups={groups}
                onChange={(claims) => change({ claims })}
              />
            ) : (
              <JsonEntry
                value={filled.json}
                faults={faults.filter(({ field }) => field.startsWith("claimMappings"))}
                onChange={(json) => change({ json })}
              />
            )}
            <Entry
              class="check"
              label="Sign-ins apply these claims"
              hint="Until then, they are only tried. Switch it on when the trial shows what you expect."
              fault={faultOf("appliesClaims")}
            >
              {(shared) => (
                <input
                  {...shared}
                  type="checkbox"
                  checked={filled.appliesClaims}
                  onChange={({ currentTarget }) => change({ appliesClaims: currentTarget.checked })}
                />
              )}
            </Entry>
            <Entry
              class="check"
              label="Groups that it made are locked"
              hint="Their names and members come from the claims alone, while sign-ins apply them."
              fault={faultOf("locksGroups")}
            >
              {(shared) => (
                <input
                  {...shared}
                  type="checkbox"
                  checked={filled.locksGroups}
                  onChange={({ currentTarget }) => change({ locksGroups: currentTarget.checked })}
                />
              )}
            </Entry>
          </fieldset>
          {!isFixed && may("update") && (
            <footer>
              {isChanged && <span class="faint">Not saved yet</span>}
              <button type="submit" class="primary" disabled={isBusy}>
                Save
              </button>
            </footer>
          )}
        </form>
        {may("update") && (
          <aside>
            <TrialPanel run={attemptOn} isOld={(trial) => tried?.trial === trial && tried.state !== state}>
              <div class="own-sign-in">
                <p class="faint">
                  {isChanged
                    ? "Save to test it with a sign-in of your own."
                    : "Or sign in there yourself: you see the claims that come, and stay who you are."}
                </p>
                {!isChanged && (
                  <Action
                    label="Test a sign-in"
                    run={TestClaims}
                    given={{ provider: provider.id }}
                    done={({ testIdentityProvider: { url } }) => location.assign(url)}
                  />
                )}
              </div>
            </TrialPanel>
          </aside>
        )}
      </div>
    </>
  );
}

interface JsonEntryProps {
  value: string;
  faults: readonly Validation[];
  onChange: (value: string) => void;
}

const JsonEntry = ({ value, faults, onChange }: JsonEntryProps) => {
  const said = faults.map(({ field, detail }) => (field === "claimMappings" ? detail : `${field}: ${detail}`));
  return (
    <Entry
      class="json"
      label="Claims in JSON"
      hint="A list of claims, as docs/sign-in.md describes it."
      fault={said.length === 0 ? undefined : said.join("\n")}
    >
      {(shared) => (
        <textarea
          {...shared}
          rows={18}
          value={value}
          spellcheck={false}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Entry>
  );
};
