import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { describe, inSentences } from "../api/errors";
import type { Loaded } from "../api/hooks";
import { Failure } from "./failure";
import type { Options } from "./form";
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
  const { name, columns, from, empty, keyOf = idOf, place, order, selection } = props;
  const page: Connection<Row> | undefined =
    props.rows && "nodes" in props.rows ? props.rows : props.rows ? { nodes: props.rows } : undefined;
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
                        <div>
                          <Value of={show(row)} />
                        </div>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {place && <Pager name={name} page={page} place={place} />}
    </>
  );
}

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

interface PagerProps {
  name: string;
  page: Connection<unknown>;
  place: Place;
}

/** Leads to the other pages of a list, if it has any row. */
export function Pager({ name, page: { nodes, totalCount, pageInfo: info }, place }: PagerProps) {
  if (!info || (nodes.length === 0 && !info.hasPreviousPage)) return null;
  return (
    <nav class="pager" aria-label={`Pages of ${name}`}>
      <span class="faint">
        {totalCount === undefined ? `${nodes.length} shown` : `${nodes.length} of ${totalOf(totalCount)}`}
      </span>
      {(info.hasNextPage || info.hasPreviousPage) && (
        <>
          <button type="button" disabled={!info.hasPreviousPage} onClick={() => place.previous(info)}>
            Previous
          </button>
          <button type="button" disabled={!info.hasNextPage} onClick={() => place.next(info)}>
            Next
          </button>
        </>
      )}
    </nav>
  );
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
