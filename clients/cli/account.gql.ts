// Generated from account.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
export type RoleName =
  | 'AUDITOR'
  | 'MEMBER'
  | 'ORGANIZATION_ADMIN'
  | 'ORGANIZATION_AUDITOR'
  | 'ORGANIZATION_MEMBER'
  | 'ORGANIZATION_TEMPLATE_ADMIN'
  | 'ORGANIZATION_USER_ADMIN'
  | 'OWNER'
  | 'TEMPLATE_ADMIN'
  | 'USER_ADMIN';

export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = { me: { id: string, username: string, name: string, email: string, roles: Array<{ name: RoleName }>, organizations: Array<{ id: string, name: string, displayName: string }> } };

export type MyNameQueryVariables = Exact<{ [key: string]: never; }>;


export type MyNameQuery = { me: { username: string } };

export const Me = operation<MeQuery, MeQueryVariables>("query Me { me { id username name email roles { name } organizations { id name displayName } } }");
export const MyName = operation<MyNameQuery, MyNameQueryVariables>("query MyName { me { username } }");