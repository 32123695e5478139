// What the caller may do: a view asks once for all its actions, and offers those that are allowed.
import { useEffect } from "preact/hooks";
import { Allowed } from "./allowed.gql";
import { describe } from "./errors";
import { useData } from "./hooks";

/** An action on an object. At most 10 objects of a view are given by their ID, others by their owner and organization. */
export interface Check {
  /** Resource and action, such as `user:create`. */
  may: `${string}:${string}`;
  resourceId?: string;
  organizationId?: string;
  ownerId?: string;
  anyOrg?: boolean;
}

interface Allowance<Key> {
  (key: Key): boolean;
  /** Whether the server has responded. */
  isKnown: boolean;
}

/** Returns whether the action of a key is allowed: none is before the checks are known and the server has responded. */
export function useAllowed<Key extends string>(checks: Record<Key, Check> | undefined): Allowance<Key> {
  const entries = Object.entries<Check>(checks ?? {});
  const variables = {
    checks: entries.map(([key, { may, ...object }]) => {
      const [resourceType = "", action = ""] = may.split(":");
      return { key, action, object: { resourceType, ...object } };
    }),
  };
  const { data, error } = useData(Allowed, entries.length > 0 ? variables : undefined);
  useEffect(() => {
    // The server does not know a resource: a mistake of the view, which would only miss its buttons.
    if (error && describe(error).code === "BAD_USER_INPUT") console.error(error);
  }, [error]);
  const allowed = new Set(data?.authCheck.filter((each) => each.allowed).map(({ key }) => key));
  return Object.assign((key: Key) => allowed.has(key), { isKnown: data !== undefined });
}
