// What a key or an application may do: a preset, or scopes that are chosen one by one.
import { useState } from "preact/hooks";
import { useData } from "../api/hooks";
import { Cards, type ControlProps } from "../ui/field";
import { LoadingPart } from "../ui/form";
import { type Branch, branchesOf, presets, sentenceOf } from "./scope-texts";
import { Scopes } from "./scope-tree.gql";

/** The preset that has exactly these scopes. */
function presetOf(chosen: ReadonlySet<string>, all: readonly string[]): string {
  if (chosen.size === 0) return "all";
  const found = presets.find(({ has }) => {
    const scopes = has && all.filter(has);
    return scopes?.length === chosen.size && scopes.every((scope) => chosen.has(scope));
  });
  return found?.name ?? "own";
}

/** Choices of scopes, whose values are the elements with the name of the field. */
export function ScopeTree(props: ControlProps) {
  const scopes = useData(Scopes, {});
  const all = scopes.data?.authScopes.external;
  return all ? <LoadedTree {...props} all={all} /> : <LoadingPart of={scopes} text="Loading what can be chosen…" />;
}

const options = presets.map(({ name, title, sentence }) => [name, title, sentence] as const);

function LoadedTree({ id, name, value, all }: ControlProps & { all: readonly string[] }) {
  const [chosen, setChosen] = useState(() => new Set(value.split("\n").filter(Boolean)));
  const [preset, setPreset] = useState(() => presetOf(chosen, all));
  const shown = presets.find((each) => each.name === preset)?.has;
  const set = (scope: string, isOn: boolean) =>
    setChosen((before) => {
      const next = new Set(before);
      if (isOn) next.add(scope);
      else next.delete(scope);
      return next;
    });
  const choose = (next: string) => {
    // One begins with what was shown before.
    if (next === "own" && shown && preset !== "all") setChosen(new Set(all.filter(shown)));
    setPreset(next);
  };
  return (
    <div class="scopes">
      <div class="cards">
        <Cards name={`${id}-preset`} options={options} value={preset} onChange={choose} />
      </div>
      {shown ? (
        all.filter(shown).map((scope) => <input key={scope} type="hidden" name={name} value={scope} />)
      ) : (
        <ul class="tree" aria-label="What it may do">
          {branchesOf(all).map((branch) => (
            <BranchView key={branch.resource} name={name} branch={branch} chosen={chosen} set={set} />
          ))}
        </ul>
      )}
    </div>
  );
}

interface BranchProps {
  name: string;
  branch: Branch;
  chosen: ReadonlySet<string>;
  set: (scope: string, isOn: boolean) => void;
}

function BranchView({ name, branch: { title, whole, scopes }, chosen, set }: BranchProps) {
  const isWhole = chosen.has(whole);
  const count = scopes.filter((scope) => chosen.has(scope)).length;
  const box = (scope: string, more: object) => (
    <input
      type="checkbox"
      name={name}
      value={scope}
      checked={chosen.has(scope)}
      onInput={({ currentTarget }) => set(scope, currentTarget.checked)}
      {...more}
    />
  );
  return (
    <li>
      <label class="whole">
        {box(whole, { indeterminate: !isWhole && count > 0 })}
        <b>{title}</b>
      </label>
      <details open={!isWhole && count > 0}>
        <summary>
          {isWhole ? "Everything" : count > 0 ? `${count} of ${scopes.length}` : "Choose"}
          <span class="hidden"> of {title}</span>
        </summary>
        <ul>
          {scopes.map((scope) => (
            <li key={scope}>
              <label>
                {/* All of it has each part. */}
                {box(scope, isWhole ? { checked: true, disabled: true } : {})}
                <span>
                  {sentenceOf(scope)} <code class="faint">{scope}</code>
                </span>
              </label>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}
