// The form of the claims of a provider: for each its name, what its values give, and what happens without it.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Entry, type SharedOfField } from "../ui/entry";
import type { Options } from "../ui/form";
import { wordsOf } from "../ui/text";
import { type ClaimDraft, type GrantDraft, newClaim, newGrant } from "./claim-drafts";
import { GroupChoice, type KnownGroups } from "./claim-groups";
import { organizationRoles, siteRoles } from "./role-names";

/** Finds what the server says of a field, by its path, and of what is within it. */
export type FaultOf = (path: string) => string | undefined;

/** All that the fields of claims need. */
export interface Surroundings {
  faultOf: FaultOf;
  organizations: Options;
  groups: KnownGroups;
}

/** Moves the focus into what was just added. */
function useFocusIfNew(isNew: boolean) {
  const box = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    if (isNew) box.current?.querySelector<HTMLElement>("input, textarea")?.focus();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- only when it appears
  }, []);
  return box;
}

/** Keeps a list of parts, whose additions get the focus, and whose removals give it to the button that adds. */
function useParts<Part extends { key: number }>(parts: readonly Part[], set: (parts: readonly Part[]) => void) {
  const [added, setAdded] = useState(0);
  const adder = useRef<HTMLButtonElement>(null);
  return {
    adder,
    isNew: ({ key }: Part) => key === added,
    add(part: Part) {
      setAdded(part.key);
      set([...parts, part]);
    },
    change: (at: number, change: Partial<Part>) => set(parts.with(at, { ...parts[at]!, ...change })),
    remove(at: number) {
      set(parts.toSpliced(at, 1));
      adder.current?.focus();
    },
  };
}

/** Claims that providers send, for those who do not know the names by heart. */
const usualClaims = ["groups", "roles", "realm_access.roles", "department"];

interface ClaimEditorProps extends Surroundings {
  claims: readonly ClaimDraft[];
  onChange: (claims: readonly ClaimDraft[]) => void;
}

export function ClaimEditor({ claims, onChange, ...around }: ClaimEditorProps) {
  const { adder, isNew, add, change, remove } = useParts(claims, onChange);
  const list = useId();
  return (
    <div class="claims">
      <datalist id={list}>
        {usualClaims.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </datalist>
      {claims.length === 0 && (
        <p class="empty">No claim is mapped. People get their groups and roles here, by hand or by SCIM.</p>
      )}
      {claims.map((claim, at) => (
        <ClaimCard
          key={claim.key}
          {...around}
          claim={claim}
          path={`claimMappings[${at}]`}
          names={list}
          isNew={isNew(claim)}
          onChange={(changed) => change(at, changed)}
          onRemove={() => remove(at)}
        />
      ))}
      <button ref={adder} type="button" class="add-part" onClick={() => add(newClaim())}>
        Add a claim
      </button>
    </div>
  );
}

interface ClaimCardProps extends Surroundings {
  claim: ClaimDraft;
  path: string;
  /** The ID of the list of usual names. */
  names: string;
  isNew: boolean;
  onChange: (changed: Partial<ClaimDraft>) => void;
  onRemove: () => void;
}

function ClaimCard({ claim, path, names, isNew, onChange, onRemove, ...around }: ClaimCardProps) {
  const { faultOf } = around;
  const box = useFocusIfNew(isNew);
  const { adder, ...rules } = useParts<GrantDraft>(claim.grants, (grants) => onChange({ grants }));
  const title = claim.claim.trim() || "New claim";
  return (
    <fieldset ref={box} class="claim" aria-label={`Claim ${title}`}>
      <header>
        <h2>
          <code>{title}</code>
        </h2>
        <button type="button" class="plain danger" aria-label={`Remove the claim ${title}`} onClick={onRemove}>
          Remove
        </button>
      </header>
      <div class="pair">
        <Entry
          label="Claim"
          hint="Its name, or a path with dots, such as realm_access.roles."
          fault={faultOf(`${path}.claim`)}
        >
          {(shared) => (
            <input
              {...shared}
              value={claim.claim}
              list={names}
              autoComplete="off"
              spellcheck={false}
              required
              onInput={({ currentTarget }) => onChange({ claim: currentTarget.value })}
            />
          )}
        </Entry>
        <Entry
          label="Separator"
          hint="For several values in one text, such as a comma. Lists need none."
          fault={faultOf(`${path}.separator`)}
        >
          {(shared) => (
            <input
              {...shared}
              class="short"
              value={claim.separator}
              autoComplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => onChange({ separator: currentTarget.value })}
            />
          )}
        </Entry>
      </div>
      <section class="part" aria-label={`Rules of ${title}`}>
        <h3>Who gets what</h3>
        {claim.grants.map((grant, at) => (
          <RuleCard
            key={grant.key}
            {...around}
            rule={grant}
            number={at + 1}
            path={`${path}.grants[${at}]`}
            isNew={rules.isNew(grant)}
            onChange={(changed) => rules.change(at, changed)}
            onRemove={() => rules.remove(at)}
          />
        ))}
        <button
          ref={adder}
          type="button"
          class="add-part"
          aria-label={`Add a rule to ${title}`}
          onClick={() => rules.add(newGrant())}
        >
          Add a rule
        </button>
      </section>
      <GroupsByName {...around} claim={claim} path={path} onChange={onChange} />
      <Fates claim={claim} path={path} faultOf={faultOf} onChange={onChange} />
    </fieldset>
  );
}

interface RuleCardProps extends Surroundings {
  rule: GrantDraft;
  number: number;
  path: string;
  isNew: boolean;
  onChange: (changed: Partial<GrantDraft>) => void;
  onRemove: () => void;
}

function RuleCard({ rule, number, path, isNew, onChange, onRemove, faultOf, organizations, groups }: RuleCardProps) {
  const box = useFocusIfNew(isNew);
  const roles = rule.organization === "" ? siteRoles : organizationRoles;
  const fault = faultOf(`${path}.roles`);
  return (
    <fieldset ref={box} class="rule" aria-label={`Rule ${number}`}>
      <Entry
        label="People with one of these values"
        hint="One value on each line, exactly as the provider sends it."
        fault={faultOf(`${path}.values`)}
      >
        {(shared) => (
          <textarea
            {...shared}
            rows={2}
            value={rule.values}
            dir="auto"
            spellcheck={false}
            onInput={({ currentTarget }) => onChange({ values: currentTarget.value })}
          />
        )}
      </Entry>
      <div class="gifts">
        <GroupChoice
          groups={groups}
          chosen={rule.groups}
          fault={faultOf(`${path}.groups`)}
          onChange={(chosen) => onChange({ groups: chosen })}
        />
        <Entry label="Join the organization" fault={faultOf(`${path}.organization`)}>
          {(shared) => (
            <OrganizationSelect
              shared={shared}
              value={rule.organization}
              organizations={organizations}
              none="None"
              onChange={(organization) => {
                const isOther = (organization === "") !== (rule.organization === "");
                onChange({ organization, ...(isOther && { roles: [] }) });
              }}
            />
          )}
        </Entry>
        <fieldset class="field choices" aria-invalid={fault ? true : undefined}>
          <legend>
            {rule.organization === "" ? "Have roles in the deployment" : "Have roles in the organization"}
          </legend>
          <div class="toggles">
            {roles.map((role) => (
              <label key={role}>
                <input
                  type="checkbox"
                  checked={rule.roles.includes(role)}
                  aria-invalid={fault ? true : undefined}
                  onChange={({ currentTarget }) =>
                    onChange({
                      roles: roles.filter((each) =>
                        each === role ? currentTarget.checked : rule.roles.includes(each),
                      ),
                    })
                  }
                />
                <span>{wordsOf(role.replace(/^ORGANIZATION_/, ""))}</span>
              </label>
            ))}
          </div>
          {fault && <p class="fault">{fault}</p>}
        </fieldset>
      </div>
      <footer>
        <button type="button" class="plain danger" aria-label={`Remove rule ${number}`} onClick={onRemove}>
          Remove
        </button>
      </footer>
    </fieldset>
  );
}

interface OrganizationSelectProps {
  shared: SharedOfField;
  value: string;
  organizations: Options;
  none: string;
  onChange: (value: string) => void;
}

/** A choice of organizations. What a file names stays as it is. */
function OrganizationSelect({ shared, value, organizations, none, onChange }: OrganizationSelectProps) {
  const isKnown = value === "" || organizations.some(([id]) => id === value);
  return (
    <select {...shared} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{none}</option>
      {organizations.map(([id, title]) => (
        <option key={id} value={id}>
          {title}
        </option>
      ))}
      {!isKnown && <option value={value}>{value}</option>}
    </select>
  );
}

interface PartProps extends Surroundings {
  claim: ClaimDraft;
  path: string;
  onChange: (changed: Partial<ClaimDraft>) => void;
}

/** Groups that are called like values: existing ones, and with a bound those that are made on demand. */
function GroupsByName({ claim, path, onChange, faultOf, organizations }: PartProps) {
  const isOn = claim.groupsOf !== "";
  return (
    <div class="part">
      <h3>Groups that are called like its values</h3>
      <div class="triple">
        <Entry
          label="In the organization"
          hint={isOn ? undefined : "People join no group by its name alone."}
          fault={faultOf(`${path}.groupsOf`)}
        >
          {(shared) => (
            <OrganizationSelect
              shared={shared}
              value={claim.groupsOf}
              organizations={organizations}
              none="None"
              onChange={(groupsOf) => onChange({ groupsOf })}
            />
          )}
        </Entry>
        {isOn && (
          <>
            <Entry
              label="Values that count"
              hint="* stands for any text: eng-* is all that begins with eng-."
              fault={faultOf(`${path}.groupPattern`)}
            >
              {(shared) => (
                <input
                  {...shared}
                  value={claim.groupPattern}
                  autoComplete="off"
                  spellcheck={false}
                  onInput={({ currentTarget }) => onChange({ groupPattern: currentTarget.value })}
                />
              )}
            </Entry>
            <Entry
              label="Make missing ones, up to"
              hint="How many groups of providers there can be. Empty: only existing ones are joined."
              fault={faultOf(`${path}.mostNewGroups`)}
            >
              {(shared) => (
                <input
                  {...shared}
                  class="short"
                  inputMode="numeric"
                  value={claim.mostNewGroups}
                  autoComplete="off"
                  onInput={({ currentTarget }) => onChange({ mostNewGroups: currentTarget.value })}
                />
              )}
            </Entry>
          </>
        )}
      </div>
    </div>
  );
}

const cases = [
  { name: "absent", label: "If it is absent", hint: "The provider sent no such claim." },
  { name: "empty", label: "If it is empty", hint: "It has no value." },
  { name: "malformed", label: "If it cannot be read", hint: "It is no list of texts, or was left out for its size." },
] as const;

/** Says what happens to earlier gifts when the claim says nothing. */
const Fates = ({ claim, path, faultOf, onChange }: Omit<PartProps, "organizations" | "groups">) => (
  <div class="part">
    <h3>What it gave before</h3>
    <div class="triple">
      {cases.map(({ name, label, hint }) => (
        <Entry key={name} label={label} hint={hint} fault={faultOf(`${path}.${name}`)}>
          {(shared) => (
            <select
              {...shared}
              value={claim[name]}
              onChange={({ currentTarget }) => onChange({ [name]: currentTarget.value })}
            >
              <option value="KEEP">Keep it</option>
              <option value="REMOVE">Take it away</option>
            </select>
          )}
        </Entry>
      ))}
    </div>
  </div>
);
