// Generated from shell.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./api/operation";
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

export type ShellQueryVariables = Exact<{
  checks: Array<AuthCheckInput> | AuthCheckInput;
}>;


export type ShellQuery = { me: { id: string, username: string, name: string }, appearance: { applicationName: string, logoUrl: string, docsUrl: string, announcementBanners: Array<{ enabled: boolean, message: string, backgroundColor: string }>, supportLinks: Array<{ name: string, target: string }> }, authCheck: Array<{ key: string, allowed: boolean }> };

export const Shell = operation<ShellQuery, ShellQueryVariables>("query Shell($checks: [AuthCheckInput!]!) { me { id username name } appearance { applicationName logoUrl announcementBanners { enabled message backgroundColor } supportLinks { name target } docsUrl } authCheck(checks: $checks) { key allowed } }");