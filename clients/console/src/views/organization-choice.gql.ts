// Generated from organization-choice.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type OrganizationsQueryVariables = Exact<{ [key: string]: never; }>;


export type OrganizationsQuery = { organizations: Array<{ id: string, name: string, displayName: string, isDefault: boolean }> };

export const Organizations = operation<OrganizationsQuery, OrganizationsQueryVariables>("query Organizations { organizations { id name displayName isDefault } }");