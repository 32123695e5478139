// Generated from expiry.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type TokenLifetimesQueryVariables = Exact<{ [key: string]: never; }>;


export type TokenLifetimesQuery = { serverInfo: { apiTokenMaxLifetimeSeconds: number } };

export const TokenLifetimes = operation<TokenLifetimesQuery, TokenLifetimesQueryVariables>("query TokenLifetimes { serverInfo { apiTokenMaxLifetimeSeconds } }");