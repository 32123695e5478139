// Selected rows of a list, and what is done with all of them.
import { useState } from "preact/hooks";
import { perform } from "../api/client";
import { inSentences } from "../api/errors";
import type { Operation } from "../api/operation";
import { Dialog } from "./dialog";
import { attempt, say } from "./notices";
import { countOf } from "./text";

/** What a list needs to let people select its rows. */
export interface Selectable<Row> {
  readonly rows: ReadonlyMap<string, unknown>;
  /** Selects rows, or no longer. */
  set: (rows: readonly Row[], isSelected: boolean) => void;
  nameOf: (row: Row) => string;
}

/** The rows that are selected, by their ID, in the state that was last shown. They stay selected on other pages of the list. */
interface Selection<Row> extends Selectable<Row> {
  readonly rows: ReadonlyMap<string, Row>;
  clear: () => void;
}

/** Lets people select rows. `shown` are those of the page, whose state may have changed since they were selected. */
export function useSelection<Row extends { id: string }>(
  nameOf: (row: Row) => string,
  shown: readonly Row[] = [],
): Selection<Row> {
  const [selected, setRows] = useState<ReadonlyMap<string, Row>>(new Map());
  const latest = new Map(shown.map((row) => [row.id, row]));
  return {
    rows: new Map([...selected].map(([id, row]) => [id, latest.get(id) ?? row])),
    set: (some, isSelected) =>
      setRows((before) => {
        const after = new Map(before);
        for (const row of some) {
          if (isSelected) after.set(row.id, row);
          else after.delete(row.id);
        }
        return after;
      }),
    clear: () => setRows(new Map()),
    nameOf,
  };
}

interface BulkAction<Row, Input extends object> {
  label: string;
  run: Operation<unknown, { input: Input }>;
  inputOf: (row: Row) => Input;
  /** The rows to which it applies. Default: all. */
  fits?: (row: Row) => boolean;
  /** The past participle of what is done, such as `suspended`. */
  done: string;
  /** The question before it acts, which names what is lost. */
  confirm?: string;
  look?: "danger";
  /** Takes it back for a row. */
  undo?: (row: Row) => Promise<unknown>;
}

/** An action, whatever its input is. */
export type AnyBulkAction<Row> = BulkAction<Row, never>;

/** Lets a view declare an action with the type of its input. */
export const bulk = <Row, Input extends object>(action: BulkAction<Row, Input>): AnyBulkAction<Row> =>
  action as unknown as AnyBulkAction<Row>;

/** Requests at a time. */
const parallel = 4;

/** Does work for all, several at a time. Returns those for which it was done, and why it was not for the others. */
export async function forAll<Row>(
  rows: readonly Row[],
  work: (row: Row) => Promise<unknown>,
  told: (count: number) => void,
) {
  const done: Row[] = [];
  const failed: Array<readonly [row: Row, reason: string]> = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < rows.length; at = next++) {
      const row = rows[at]!;
      try {
        await work(row);
        done.push(row);
      } catch (error) {
        failed.push([row, inSentences(error)]);
      }
      told(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return { done, failed };
}

interface BulkProps<Row> {
  selection: Selection<Row>;
  /** What the rows are, such as `user`. */
  noun: string;
  actions: ReadonlyArray<AnyBulkAction<Row> | false | undefined>;
}

/** The bar above a list that says how many rows are selected, with what can be done with them. */
export function Bulk<Row>({ selection, noun, actions }: BulkProps<Row>) {
  const [asked, setAsked] = useState<AnyBulkAction<Row>>();
  const [progress, setProgress] = useState<readonly [done: number, all: number]>();
  const [failures, setFailures] = useState<ReadonlyArray<readonly [Row, string]>>([]);
  const rows = [...selection.rows.values()];
  const { nameOf } = selection;

  async function act({ run, inputOf, fits, done: participle, undo }: AnyBulkAction<Row>): Promise<void> {
    setAsked(undefined);
    const chosen = rows.filter(fits ?? (() => true));
    setProgress([0, chosen.length]);
    const { done, failed } = await forAll(
      chosen,
      (row) => perform(run as Operation<unknown, object>, { input: inputOf(row) }),
      (count) => setProgress([count, chosen.length]),
    );
    setProgress(undefined);
    setFailures(failed);
    // Those that failed stay selected, to be tried again.
    selection.set(done, false);
    if (done.length > 0)
      say(
        `${countOf(done.length, noun)} ${participle}.`,
        undo &&
          (async () => {
            const { failed: kept } = await forAll(done, undo, () => {});
            setFailures(kept);
          }),
      );
  }

  if (rows.length === 0 && failures.length === 0) return null;
  return (
    <section class="bulk" aria-label={`Selected ${noun}s`}>
      <output>{progress ? `${progress[0]} of ${progress[1]} done…` : `${countOf(rows.length, noun)} selected`}</output>
      <div class="buttons">
        {actions.map((action) => {
          if (!action) return null;
          const count = rows.filter(action.fits ?? (() => true)).length;
          return (
            <button
              key={action.label}
              type="button"
              class={action.look ?? ""}
              disabled={count === 0 || progress !== undefined}
              aria-haspopup={action.confirm ? "dialog" : undefined}
              onClick={() => (action.confirm ? setAsked(action) : void attempt(() => act(action)))}
            >
              {action.label} {count > 0 && count}
            </button>
          );
        })}
        <button
          type="button"
          class="plain"
          disabled={progress !== undefined}
          onClick={() => {
            selection.clear();
            setFailures([]);
          }}
        >
          Clear
        </button>
      </div>
      {failures.length > 0 && (
        <ul class="alarm" role="alert">
          {failures.map(([row, reason]) => (
            <li key={nameOf(row)}>
              <b>{nameOf(row)}</b>: {reason}
            </li>
          ))}
        </ul>
      )}
      {asked && (
        <Dialog
          title={`${asked.label} ${countOf(rows.filter(asked.fits ?? (() => true)).length, noun)}`}
          onClose={() => setAsked(undefined)}
        >
          <p class="note">{asked.confirm}</p>
          <p>
            {rows
              .filter(asked.fits ?? (() => true))
              .map(nameOf)
              .join(", ")}
          </p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void attempt(() => act(asked));
            }}
          >
            <footer>
              <button type="button" onClick={() => setAsked(undefined)}>
                Cancel
              </button>
              <button type="submit" class={asked.look === "danger" ? "primary danger" : "primary"}>
                {asked.label}
              </button>
            </footer>
          </form>
        </Dialog>
      )}
    </section>
  );
}
