import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { describe, inOneSentence } from "../api/errors";
import { Failure } from "./failure";
import { Empty, Loading } from "./parts";
import type { Order, PageInfo, Place } from "./pages";

export interface Column<Row> {
  title: string;
  show: (row: Row) => ReactNode;
  /** The field by which the list can be sorted. */
  sort?: string;
  /** Whether the title is for screen readers only. */
  isAction?: true;
  isNumber?: true;
}

interface ListProps<Row> {
  name: string;
  columns: ReadonlyArray<Column<Row>>;
  rows: readonly Row[] | undefined;
  error?: Error;
  retry?: () => void;
  empty: ReactNode;
  place?: Place;
  pageInfo?: PageInfo;
  order?: Order<string>;
  totalCount?: number;
}

/** A table of objects with its states: loading, failed, empty, and with pages. On narrow screens, rows become cards. */
export function List<Row extends { id: string }>(props: ListProps<Row>) {
  const { name, columns, rows, error, retry, empty } = props;
  if (!rows) return error ? <Failure error={error} retry={retry} /> : <Loading />;
  if (rows.length === 0 && !error) return <Empty>{empty}</Empty>;
  return (
    <>
      {error && describe(error).code !== "UNREACHABLE" && (
        <p className="alarm" role="alert">
          {inOneSentence(error)}
        </p>
      )}
      <div className="table">
        <table aria-label={name}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Title key={column.title} column={column} order={props.order} place={props.place} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                {columns.map(({ title, show, isAction, isNumber }) => (
                  <td key={title} data-title={isAction ? undefined : title} className={cellClass(isAction, isNumber)}>
                    {isAction ? show(row) : <div>{show(row)}</div>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Pager {...props} />
    </>
  );
}

const cellClass = (isAction?: true, isNumber?: true) => (isAction ? "actions" : isNumber ? "number" : undefined);

function Title<Row>({ column, order, place }: { column: Column<Row>; order?: Order<string>; place?: Place }) {
  const { title, sort, isAction, isNumber } = column;
  if (!sort || !place) {
    return (
      <th className={cellClass(undefined, isNumber)}>{isAction ? <span className="hidden">{title}</span> : title}</th>
    );
  }
  const isCurrent = order?.field === sort;
  const isDown = isCurrent && order.direction === "DESC";
  return (
    <th aria-sort={isCurrent ? (isDown ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        className={`plain sort ${isCurrent ? (isDown ? "down" : "up") : ""}`}
        onClick={() => place.set({ sort: isCurrent && !isDown ? `-${sort}` : sort })}
      >
        {title}
      </button>
    </th>
  );
}

/** The largest total of lists that are counted up to a limit. */
const mostCounted = 1000;

function Pager<Row>({ name, rows, place, pageInfo, totalCount }: ListProps<Row>) {
  if (!place || !pageInfo || !rows) return undefined;
  const { hasNextPage, hasPreviousPage } = pageInfo;
  return (
    <nav className="pager" aria-label={`Pages of ${name}`}>
      <span className="faint">
        {totalCount === undefined
          ? `${rows.length} shown`
          : `${rows.length} of ${totalCount}${totalCount === mostCounted ? " or more" : ""}`}
      </span>
      {(hasNextPage || hasPreviousPage) && (
        <>
          <button type="button" disabled={!hasPreviousPage} onClick={() => place.previous(pageInfo)}>
            Previous
          </button>
          <button type="button" disabled={!hasNextPage} onClick={() => place.next(pageInfo)}>
            Next
          </button>
        </>
      )}
    </nav>
  );
}

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
    <div className="filter">
      <label htmlFor={id}>{label}</label>
      <input id={id} type="search" value={text} onChange={({ target }) => setText(target.value)} />
    </div>
  );
}

interface ChoiceProps {
  place: Place;
  label: string;
  name: string;
  /** The label of the choice that is made without one. */
  any?: string;
  options: ReadonlyArray<readonly [value: string, label: string]>;
}

export function Choice({ place, label, name, any = "All", options }: ChoiceProps) {
  const id = useId();
  return (
    <div className="filter">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={place.get(name)} onChange={({ target }) => place.set({ [name]: target.value })}>
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
