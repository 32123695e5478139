import { useLocation } from "preact-iso";
import { useSignal } from "../api/signal";
import { pageSize } from "./list-settings";

export interface PageInfo {
  startCursor?: string | null;
  endCursor?: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
}

export interface Order<Field extends string> {
  field: Field;
  direction: "ASC" | "DESC";
}

/** The place in a list, which is in the address: filters, order, and cursor. The first page follows any other change. */
export interface Place {
  path: string;
  /** The filters and the order, as the address has them: the same for the same ones. */
  search: string;
  cursors: { first?: number; after?: string; last?: number; before?: string };
  get: (name: string) => string;
  /** The value of a filter for the API: null if there is none. */
  filter: <Value extends string>(name: string) => Value | null;
  set: (values: Record<string, string>) => void;
  /** The number of the first row of the page, from 1; undefined if the address does not tell, as that of an old link. */
  start: (info: PageInfo) => number | undefined;
  /** Goes on from a page of so many rows, which begins at this number. */
  next: (info: PageInfo, start: number | undefined, shown: number) => void;
  previous: (info: PageInfo, start: number | undefined) => void;
  /** The order, as `NAME` or `-NAME` in the address. */
  order: <Field extends string>(fields: readonly Field[], usual: Field | `-${Field}`) => Order<Field>;
}

export function usePlace(): Place {
  const { path, query, route } = useLocation();
  const size = useSignal(pageSize);
  const { after, before } = query;
  const kept = Object.entries(query).filter(([name, value]) => value && !["after", "before", "at"].includes(name));
  const go = (values: Record<string, string | null | undefined>, replace = false) => {
    const all = Object.entries({ ...Object.fromEntries(kept), ...values }).filter(([, value]) => value);
    const search = new URLSearchParams(all as Array<[string, string]>).toString();
    route(search ? `${path}?${search}` : path, replace);
  };
  return {
    path,
    search: new URLSearchParams(kept.toSorted(([a], [b]) => (a < b ? -1 : 1))).toString(),
    cursors: before ? { last: size, before } : { first: size, ...(after && { after }) },
    get: (name) => query[name] ?? "",
    filter: <Value extends string>(name: string) => (query[name] || null) as Value | null,
    set: (values) => go(values, true),
    // A page before which there is none is the first one, whatever has come and gone since the address was made.
    start: ({ hasPreviousPage }) => (hasPreviousPage ? Number(query.at) || undefined : 1),
    next: (info, first, shown) => go({ after: info.endCursor, at: numberOf(first, shown) }),
    previous(info, first) {
      // The first page is that of today: rows that came since it was shown are before the ones that it had.
      if (first !== undefined && first <= size + 1) go({});
      else go({ before: info.startCursor, at: numberOf(first, -size) });
    },
    order<Field extends string>(fields: readonly Field[], usual: Field | `-${Field}`) {
      const text = query.sort ?? usual;
      const field = fields.find((each) => each === text.replace("-", "")) ?? fields[0]!;
      return { field, direction: text.startsWith("-") ? "DESC" : "ASC" };
    },
  };
}

/** A number of rows further, as the address has it: nothing if it is not known, or cannot be. */
const numberOf = (start: number | undefined, by: number) =>
  start !== undefined && start + by > 0 ? String(start + by) : undefined;
