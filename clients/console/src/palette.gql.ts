// Generated from palette.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./api/operation";
export type SearchKind =
  | 'APPLICATION'
  | 'GROUP'
  | 'TASK'
  | 'TEMPLATE'
  | 'USER'
  | 'WORKSPACE';

export type FindQueryVariables = Exact<{
  text: string;
}>;


export type FindQuery = { search: Array<{ kind: SearchKind, id: string, name: string, displayName: string, ownerName: string | null, organizationName: string | null }> };

export const Find = operation<FindQuery, FindQueryVariables>("query Find($text: String!) { search(text: $text) { kind id name displayName ownerName organizationName } }");