// What the caller may do: a view asks once for all its actions, and offers those that are allowed.
import { useQuery } from "@apollo/client/react";
import { graphql } from "../gql";
import type { AuthCheckObjectInput } from "../gql/graphql";

const allowedQuery = graphql(`
  query Allowed($checks: [AuthCheckInput!]!) {
    authCheck(checks: $checks) {
      key
      allowed
    }
  }
`);

/** An action on an object. At most 10 objects of a view are given by their ID, others by their owner and organization. */
export type Check = Omit<AuthCheckObjectInput, "resourceType"> & { may: `${string}:${string}` };

/** Returns whether the action of a key is allowed: no action is, until the server has responded. */
export function useAllowed(checks: Record<string, Check>): (key: string) => boolean {
  const variables = {
    checks: Object.entries(checks).map(([key, { may, ...object }]) => {
      const [resourceType = "", action = ""] = may.split(":");
      return { key, action, object: { resourceType, ...object } };
    }),
  };
  const { data, previousData } = useQuery(allowedQuery, {
    variables,
    skip: variables.checks.length === 0,
    fetchPolicy: "cache-and-network",
  });
  const allowed = new Set((data ?? previousData)?.authCheck.filter((each) => each.allowed).map(({ key }) => key));
  return (key) => allowed.has(key);
}
