import { useLocation } from "preact-iso";

/** Rows on a page. */
export const pageSize = 25;

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
  next: (info: PageInfo) => void;
  previous: (info: PageInfo) => void;
  /** The order, as `NAME` or `-NAME` in the address. */
  order: <Field extends string>(fields: readonly Field[], usual: Field | `-${Field}`) => Order<Field>;
}

export function usePlace(): Place {
  const { path, query, route } = useLocation();
  const { after, before } = query;
  const kept = Object.entries(query).filter(([name, value]) => value && !["after", "before"].includes(name));
  const go = (values: Record<string, string | null | undefined>, replace = false) => {
    const all = Object.entries({ ...Object.fromEntries(kept), ...values }).filter(([, value]) => value);
    const search = new URLSearchParams(all as Array<[string, string]>).toString();
    route(search ? `${path}?${search}` : path, replace);
  };
  return {
    path,
    search: new URLSearchParams(kept.toSorted(([a], [b]) => (a < b ? -1 : 1))).toString(),
    cursors: before ? { last: pageSize, before } : { first: pageSize, ...(after && { after }) },
    get: (name) => query[name] ?? "",
    filter: <Value extends string>(name: string) => (query[name] || null) as Value | null,
    set: (values) => go(values, true),
    next: ({ endCursor }) => go({ after: endCursor }),
    previous: ({ startCursor }) => go({ before: startCursor }),
    order<Field extends string>(fields: readonly Field[], usual: Field | `-${Field}`) {
      const text = query.sort ?? usual;
      const field = fields.find((each) => each === text.replace("-", "")) ?? fields[0]!;
      return { field, direction: text.startsWith("-") ? "DESC" : "ASC" };
    },
  };
}
