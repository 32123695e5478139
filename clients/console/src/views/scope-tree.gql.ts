// Generated from scope-tree.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ScopesQueryVariables = Exact<{ [key: string]: never; }>;


export type ScopesQuery = { authScopes: { external: Array<string> } };

export const Scopes = operation<ScopesQuery, ScopesQueryVariables>("query Scopes { authScopes { external } }");