// Generated from audit-readers.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AuditReadersQueryVariables = Exact<{
  active?: boolean | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type AuditReadersQuery = { auditReaders: { totalCount: number, nodes: Array<{ id: string, username: string, apiKeyId: string | null, filter: Record<string, unknown>, ip: string | null, userAgent: string | null, behind: number, isActive: boolean, startedAt: string, seenAt: string, endedAt: string | null, user: { id: string } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export const AuditReaders = operation<AuditReadersQuery, AuditReadersQueryVariables>("query AuditReaders($active: Boolean, $first: Int, $after: String, $last: Int, $before: String) { auditReaders( active: $active first: $first after: $after last: $last before: $before ) { totalCount nodes { id username user { id } apiKeyId filter ip userAgent behind isActive startedAt seenAt endedAt } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");