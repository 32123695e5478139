// Generated from allowed.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AuthCheckInput = {
  action: string;
  key: string;
  object: AuthCheckObjectInput;
};

export type AuthCheckObjectInput = {
  anyOrg?: boolean | null | undefined;
  organizationId?: string | null | undefined;
  ownerId?: string | null | undefined;
  resourceId?: string | null | undefined;
  resourceType: string;
};

export type AllowedQueryVariables = Exact<{
  checks: Array<AuthCheckInput> | AuthCheckInput;
}>;


export type AllowedQuery = { authCheck: Array<{ key: string, allowed: boolean }> };

export const Allowed = operation<AllowedQuery, AllowedQueryVariables>("query Allowed($checks: [AuthCheckInput!]!) { authCheck(checks: $checks) { key allowed } }");