import { useMemo } from "react";
import { useSearchParams } from "react-router";

/** Rows on a page. */
export const pageSize = 25;

export interface Cursors {
  first?: number;
  after?: string;
  last?: number;
  before?: string;
}

export interface PageInfo {
  startCursor?: string | null;
  endCursor?: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
}

/** The place in a list, which is in the address: filters, order, and cursor. The first page follows any other change. */
export interface Place {
  cursors: Cursors;
  get: (name: string) => string;
  set: (values: Record<string, string>) => void;
  next: (info: PageInfo) => void;
  previous: (info: PageInfo) => void;
}

export function usePlace(): Place {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const [after, before] = [params.get("after"), params.get("before")];
    const go = (changes: Record<string, string | null | undefined>, replace = false) => {
      const changed = new URLSearchParams(params);
      for (const name of ["after", "before"]) changed.delete(name);
      for (const [name, value] of Object.entries(changes)) {
        if (value) changed.set(name, value);
        else changed.delete(name);
      }
      void setParams(changed, { replace });
    };
    return {
      cursors: before ? { last: pageSize, before } : { first: pageSize, ...(after && { after }) },
      get: (name) => params.get(name) ?? "",
      set: (values) => go(values, true),
      next: ({ endCursor }) => go({ after: endCursor }),
      previous: ({ startCursor }) => go({ before: startCursor }),
    };
  }, [params, setParams]);
}

export interface Order<Field extends string> {
  field: Field;
  direction: "ASC" | "DESC";
}

/** The order of a list in the address, as `NAME` or `-NAME`. */
export function orderOf<Field extends string>(place: Place, fields: readonly Field[], usual: string): Order<Field> {
  const text = place.get("sort") || usual;
  const field = fields.find((each) => each === text.replace("-", "")) ?? fields[0]!;
  return { field, direction: text.startsWith("-") ? "DESC" : "ASC" };
}
