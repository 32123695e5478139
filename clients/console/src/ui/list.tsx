import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { describe, inSentences } from "../api/errors";
import type { Loaded } from "../api/hooks";
import { useSignal } from "../api/signal";
import { Failure } from "./failure";
import type { Options } from "./form";
import { pageSize, pageSizes, readHidden, setPageSize, writeHidden } from "./list-settings";
import { Empty, Loading, Value } from "./parts";
import type { Order, PageInfo, Place } from "./place";
import { SavedFilters } from "./saved-filters";
import type { Selectable } from "./selection";
import { totalOf } from "./text";

export interface Column<Row> {
  title: string;
  show: (row: Row) => ComponentChildren;
  /** The field by which the list can be sorted. */
  sort?: string;
  /** Whether the column has buttons, and its title is for screen readers only. */
  isAction?: true;
  isNumber?: true;
}

/** A page of a list of the API. */
export interface Connection<Row> {
  nodes: readonly Row[];
  totalCount?: number;
  pageInfo?: PageInfo;
}

interface ListProps<Row> {
  name: string;
  columns: ReadonlyArray<Column<Row>>;
  /** The page, or all objects of a short list; undefined while it loads. */
  rows: readonly Row[] | Connection<Row> | null | undefined;
  from?: Pick<Loaded<unknown>, "error" | "refresh">;
  empty: ComponentChildren;
  place?: Place;
  order?: Order<string>;
  keyOf?: (row: Row) => string | number;
  /** Lets people select rows, by a box in the first column. */
  selection?: Selectable<Row>;
}

const idOf = (row: unknown) => (row as { id: string }).id;

/** A table of objects with its states: loading, failed, empty, and with pages. On narrow screens, rows become cards. */
export function List<Row>(props: ListProps<Row>) {
  const { name, from, empty, keyOf = idOf, place, order, selection } = props;
  const [hidden, setHidden] = useState(() => readHidden(name));
  const page: Connection<Row> | undefined =
    props.rows && "nodes" in props.rows ? props.rows : props.rows ? { nodes: props.rows } : undefined;
  const columns = props.columns.filter((column, at) => !isOptional(column, at) || !hidden.includes(column.title));
  if (!page) return from?.error ? <Failure error={from.error} retry={from.refresh} /> : <Loading />;
  return (
    <>
      {from?.error && describe(from.error).code !== "UNREACHABLE" && (
        <p class="alarm" role="alert">
          {inSentences(from.error)}
        </p>
      )}
      {page.nodes.length === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <div class="table">
          <table aria-label={name}>
            <thead>
              <tr>
                {columns.map((column, at) => (
                  <Title key={column.title} column={column} order={order} place={place}>
                    {at === 0 && selection && <SelectAll name={name} rows={page.nodes} selection={selection} />}
                  </Title>
                ))}
              </tr>
            </thead>
            <tbody>
              {page.nodes.map((row) => (
                <tr key={keyOf(row)} aria-selected={selection?.rows.has(idOf(row))}>
                  {columns.map(({ title, show, isAction, isNumber }, at) => (
                    <td key={title} data-title={isAction ? undefined : title} class={cellClass(isAction, isNumber)}>
                      {isAction ? (
                        show(row)
                      ) : at === 0 && selection ? (
                        <div class="selectable">
                          <input
                            type="checkbox"
                            aria-label={`Select ${selection.nameOf(row)}`}
                            checked={selection.rows.has(idOf(row))}
                            onChange={({ currentTarget }) => selection.set([row], currentTarget.checked)}
                          />
                          <div>{show(row)}</div>
                        </div>
                      ) : (
                        <Cell of={show(row)} />
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {place && (
        <Pager name={name} page={page} place={place}>
          <Columns
            name={name}
            titles={props.columns.filter(isOptional).map(({ title }) => title)}
            hidden={hidden}
            onChange={(titles) => {
              setHidden(titles);
              writeHidden(name, titles);
            }}
          />
        </Pager>
      )}
    </>
  );
}

/** Whether a column can be hidden: the first one names the object, and others have its actions. */
const isOptional = <Row,>({ isAction }: Column<Row>, at: number) => at > 0 && !isAction;

/** A word of this many characters may not fit into its column. */
const longWord = /\S{20}/;

const Cell = ({ of }: { of: ComponentChildren }) => (
  <div class={typeof of === "string" && longWord.test(of) ? "long" : undefined}>
    <Value of={of} />
  </div>
);

const cellClass = (isAction?: true, isNumber?: true) => (isAction ? "actions" : isNumber ? "number" : undefined);

interface SelectAllProps<Row> {
  name: string;
  rows: readonly Row[];
  selection: Selectable<Row>;
}

/** Selects all rows of the page. */
function SelectAll<Row>({ name, rows, selection }: SelectAllProps<Row>) {
  const count = rows.filter((row) => selection.rows.has(idOf(row))).length;
  const isAll = count === rows.length;
  return (
    <input
      type="checkbox"
      aria-label={`Select all ${name.toLowerCase()} of the page`}
      checked={isAll}
      indeterminate={count > 0 && !isAll}
      onChange={({ currentTarget }) => selection.set(rows, currentTarget.checked)}
    />
  );
}

interface TitleProps<Row> {
  column: Column<Row>;
  order?: Order<string>;
  place?: Place;
  children: ComponentChildren;
}

function Title<Row>({ column, order, place, children }: TitleProps<Row>) {
  const { title, sort, isAction, isNumber } = column;
  if (!sort || !place)
    return (
      <th class={cellClass(undefined, isNumber)}>
        {children}
        {isAction ? <span class="hidden">{title}</span> : title}
      </th>
    );
  const isCurrent = order?.field === sort;
  const isDown = isCurrent && order.direction === "DESC";
  return (
    <th aria-sort={isCurrent ? (isDown ? "descending" : "ascending") : "none"}>
      {children}
      <button
        type="button"
        class={`plain sort ${isCurrent ? (isDown ? "down" : "up") : ""}`}
        onClick={() => place.set({ sort: isCurrent && !isDown ? `-${sort}` : sort })}
      >
        {title}
      </button>
    </th>
  );
}

interface ColumnsProps {
  name: string;
  titles: readonly string[];
  hidden: readonly string[];
  onChange: (hidden: readonly string[]) => void;
}

/** Lets the user hide columns of a list. It closes with Escape, and when the focus leaves it. */
function Columns({ name, titles, hidden, onChange }: ColumnsProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  const isOffered = titles.length > 1;
  useEffect(() => {
    const box = details.current;
    if (!box) return undefined;
    const leave = ({ relatedTarget }: FocusEvent) => {
      if (relatedTarget && !box.contains(relatedTarget as Node)) box.open = false;
    };
    const escape = ({ key }: KeyboardEvent) => {
      if (key !== "Escape" || !box.open) return;
      box.open = false;
      box.querySelector("summary")?.focus();
    };
    const toggle = () => setOpen(box.open);
    box.addEventListener("toggle", toggle);
    box.addEventListener("focusout", leave);
    box.addEventListener("keydown", escape);
    return () => {
      box.removeEventListener("toggle", toggle);
      box.removeEventListener("focusout", leave);
      box.removeEventListener("keydown", escape);
    };
  }, [isOffered]);
  if (!isOffered) return null;
  return (
    <details ref={details} class="columns">
      <summary class="button">Columns</summary>
      {isOpen && (
        <fieldset>
          <legend class="hidden">Columns of {name}</legend>
          {titles.map((title) => (
            <label key={title}>
              <input
                type="checkbox"
                checked={!hidden.includes(title)}
                onChange={({ currentTarget }) =>
                  onChange(currentTarget.checked ? hidden.filter((each) => each !== title) : [...hidden, title])
                }
              />
              {title}
            </label>
          ))}
        </fieldset>
      )}{" "}
    </details>
  );
}

interface PagerProps {
  name: string;
  page: Connection<unknown>;
  place: Place;
  /** What else concerns how the list is shown. */
  children?: ComponentChildren;
}

/** Leads to the other pages of a list, if it has any row, and says which rows this page has. */
export function Pager({ name, page, place, children }: PagerProps) {
  const size = useSignal(pageSize);
  const { nodes, totalCount, pageInfo: info } = page;
  const start = useStart(place, info);
  if (!info || (nodes.length === 0 && !info.hasPreviousPage)) return null;
  const isPart = info.hasNextPage || info.hasPreviousPage;
  return (
    <nav class="pager" aria-label={`Pages of ${name}`}>
      <span class="faint">{rangeOf(start, nodes.length, totalCount)}</span>
      {children}
      {(isPart || size > pageSizes[0]) && (
        <label>
          Rows{" "}
          <select
            value={size}
            onChange={({ currentTarget }) => {
              setPageSize(Number(currentTarget.value));
              // From the first page: the cursors of another size would begin in the middle of one.
              place.set({});
            }}
          >
            {pageSizes.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
      {isPart && (
        <>
          <button type="button" disabled={!info.hasPreviousPage} onClick={() => place.previous(info, start)}>
            Previous
          </button>
          <button type="button" disabled={!info.hasNextPage} onClick={() => place.next(info, start, nodes.length)}>
            Next
          </button>
        </>
      )}
    </nav>
  );
}

/** The number of the first row of the page that is shown: while another one loads, the address is that of the other one. */
function useStart(place: Place, info: PageInfo | undefined): number | undefined {
  const shown = useRef<{ info?: PageInfo; start?: number }>({});
  if (info && info !== shown.current.info) shown.current = { info, start: place.start(info) };
  return shown.current.start;
}

/** The rows of a page: "26–50 of 601". */
function rangeOf(start: number | undefined, shown: number, total: number | undefined): string {
  const part =
    start === undefined || shown === 0 ? String(shown) : shown === 1 ? String(start) : `${start}–${start + shown - 1}`;
  return total === undefined ? part : `${part} of ${totalOf(total)}`;
}

interface FiltersProps {
  children: ComponentChildren;
  /** The place of a list whose filters people can save under names. */
  place?: Place;
}

export const Filters = ({ children, place }: FiltersProps) => (
  <search class="filters">
    {children}
    {place && <SavedFilters place={place} />}
  </search>
);

/** Milliseconds without a keystroke before a search begins. */
const hesitation = 250;

export function Search({ place, label, name = "q" }: { place: Place; label: string; name?: string }) {
  const id = useId();
  const current = place.get(name);
  const [text, setText] = useState(current);
  const sent = useRef(current);
  useEffect(() => {
    // The address changed otherwise, such as by the back button.
    if (current !== sent.current) setText((sent.current = current));
  }, [current]);
  useEffect(() => {
    if (text === sent.current) return undefined;
    const timer = setTimeout(() => place.set({ [name]: (sent.current = text) }), hesitation);
    return () => clearTimeout(timer);
  }, [text, name, place]);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input id={id} type="search" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
    </div>
  );
}

interface ChoiceProps {
  place: Place;
  label: string;
  name: string;
  /** The label of the choice that is made without one. */
  any?: string;
  options: Options;
}

export function Choice({ place, label, name, any = "All", options }: ChoiceProps) {
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={place.get(name)}
        onChange={({ currentTarget }) => place.set({ [name]: currentTarget.value })}
      >
        <option value="">{any}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A day by which a list is limited, as `2026-01-31` in the address. */
export function Day({ place, label, name }: Pick<ChoiceProps, "place" | "label" | "name">) {
  const id = useId();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="date"
        max="9999-12-31"
        value={/^\d{4}-\d\d-\d\d$/.test(place.get(name)) ? place.get(name) : ""}
        onChange={({ currentTarget }) => place.set({ [name]: currentTarget.value })}
      />
    </div>
  );
}
