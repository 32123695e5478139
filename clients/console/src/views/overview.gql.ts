// Generated from overview.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AuditAction =
  | 'AUTHORIZE'
  | 'CREATE'
  | 'DELETE'
  | 'DELIVER'
  | 'DENY'
  | 'LOGIN'
  | 'LOGIN_FAILED'
  | 'LOGOUT'
  | 'REVOKE'
  | 'START'
  | 'STOP'
  | 'UPDATE';

export type LoginType =
  | 'GITHUB'
  | 'NONE'
  | 'OIDC'
  | 'PASSWORD';

export type ProvisionerDaemonStatus =
  | 'BUSY'
  | 'IDLE'
  | 'OFFLINE';

export type OverviewQueryVariables = Exact<{
  config: boolean;
  users: boolean;
  licenses: boolean;
  deliveries: boolean;
  audit: boolean;
  timeZone: string;
}>;


export type OverviewQuery = { me: { id: string, username: string, name: string, loginType: LoginType }, serverInfo: { version: string }, people?: { totalCount: number }, suspended?: { totalCount: number }, workspaces: { totalCount: number }, running: { totalCount: number }, stopped: { totalCount: number }, failed: { totalCount: number, nodes: Array<{ id: string, name: string, owner: { username: string }, latestBuild: { id: string, createdAt: string, job: { id: string, error: string | null } } | null }> }, ofSuspended: { totalCount: number }, heldWorkspaces?: { userCount: number, workspaceCount: number }, tasks: { totalCount: number }, activeTasks: { totalCount: number }, failedTasks: { totalCount: number }, entitlements?: { hasLicense: boolean, warnings: Array<string>, errors: Array<string>, features: Array<{ name: string, actual: number | null, limit: number | null }> }, givenUp?: { totalCount: number }, pending?: { totalCount: number }, leased?: { totalCount: number }, retried?: { totalCount: number }, recent?: { nodes: Array<{ id: string, time: string, action: AuditAction, resourceType: string, resourceLabel: string | null, actorUsername: string | null, actorKind: string }> }, dailyCounts: { days: Array<string>, createdUsers: Array<number> | null, signIns: Array<number> | null, rejectedSignIns: Array<number> | null } | null };

export type OverviewOrganizationQueryVariables = Exact<{
  organization: string;
  timeZone: string;
  daemons: boolean;
}>;


export type OverviewOrganizationQuery = { aiSpend: { spentMicros: number, limitMicros: number | null, periodEnd: string } | null, workspaceQuota: { creditsConsumed: number, budget: number } | null, provisionerDaemons?: Array<{ id: string, status: ProvisionerDaemonStatus }>, dailyCounts: { days: Array<string>, builds: Array<number> | null, failedBuilds: Array<number> | null, createdTasks: Array<number> | null } | null };

export type ReleaseHeldWorkspacesMutationVariables = Exact<{ [key: string]: never; }>;


export type ReleaseHeldWorkspacesMutation = { releaseHeldWorkspaces: { releasedUserCount: number } };

export const Overview = operation<OverviewQuery, OverviewQueryVariables>("query Overview($config: Boolean!, $users: Boolean!, $licenses: Boolean!, $deliveries: Boolean!, $audit: Boolean!, $timeZone: String!) { me { id username name loginType } serverInfo { version } people: users(first: 1) @include(if: $users) { totalCount } suspended: users(first: 1, filter: {status: SUSPENDED}) @include(if: $users) { totalCount } workspaces(first: 1) { totalCount } running: workspaces(first: 1, filter: {status: RUNNING}) { totalCount } stopped: workspaces(first: 1, filter: {status: STOPPED}) { totalCount } failed: workspaces(first: 5, filter: {status: FAILED}) { totalCount nodes { id name owner { username } latestBuild { id createdAt job { id error } } } } ofSuspended: workspaces( first: 1 filter: {status: RUNNING, ownerStatus: SUSPENDED} ) { totalCount } heldWorkspaces @include(if: $config) { userCount workspaceCount } tasks(first: 1) { totalCount } activeTasks: tasks(first: 1, filter: {status: [ACTIVE, INITIALIZING, PENDING]}) { totalCount } failedTasks: tasks(first: 1, filter: {status: [ERROR]}) { totalCount } entitlements @include(if: $licenses) { hasLicense warnings errors features { name actual limit } } givenUp: notificationMessages(first: 1, filter: {state: PERMANENT_FAILURE}) @include(if: $deliveries) { totalCount } pending: notificationMessages(first: 1, filter: {state: PENDING}) @include(if: $deliveries) { totalCount } leased: notificationMessages(first: 1, filter: {state: LEASED}) @include(if: $deliveries) { totalCount } retried: notificationMessages(first: 1, filter: {state: TEMPORARY_FAILURE}) @include(if: $deliveries) { totalCount } recent: auditEvents(first: 8) @include(if: $audit) { nodes { id time action resourceType resourceLabel actorUsername actorKind } } dailyCounts(days: 28, timeZone: $timeZone) { days createdUsers signIns rejectedSignIns } }");
export const OverviewOrganization = operation<OverviewOrganizationQuery, OverviewOrganizationQueryVariables>("query OverviewOrganization($organization: String!, $timeZone: String!, $daemons: Boolean!) { aiSpend(organization: $organization) { spentMicros limitMicros periodEnd } workspaceQuota(organization: $organization) { creditsConsumed budget } provisionerDaemons(organization: $organization) @include(if: $daemons) { id status } dailyCounts(days: 28, timeZone: $timeZone, organization: $organization) { days builds failedBuilds createdTasks } }");
export const ReleaseHeldWorkspaces = operation<ReleaseHeldWorkspacesMutation, ReleaseHeldWorkspacesMutationVariables>("mutation ReleaseHeldWorkspaces { releaseHeldWorkspaces { releasedUserCount } }");