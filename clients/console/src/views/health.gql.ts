// Generated from health.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type HealthCode =
  | 'ACCESS_URL'
  | 'BACKUPS'
  | 'CLOCK'
  | 'DAEMONS'
  | 'DAEMON_TAGS'
  | 'DATABASE_LATENCY'
  | 'DATABASE_POOL'
  | 'DATABASE_SETTINGS'
  | 'DATABASE_SIZE'
  | 'DATABASE_VERSION'
  | 'DISK'
  | 'ENCRYPTION_KEYS'
  | 'ENDING_KEYS'
  | 'EVENTS'
  | 'JOB_QUEUE'
  | 'LICENSES'
  | 'MAIL'
  | 'MIGRATIONS'
  | 'NOTIFICATION_QUEUE'
  | 'REPLICA_VERSIONS'
  | 'STANDBY'
  | 'TASK_INPUT_QUEUE'
  | 'TIME_ZONES'
  | 'WEBHOOK'
  | 'WORKSPACE_PROXIES';

export type HealthState =
  | 'ERROR'
  | 'OK'
  | 'WARNING';

export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

export type MuteHealthCheckInput = {
  code: HealthCode;
  until?: string | null | undefined;
};

export type HealthCheckRowFragment = { code: HealthCode, title: string, state: HealthState, since: string, checkedAt: string, finding: string, meaning: string, advice: string, docsUrl: string, mutedUntil: string | null, mutedBy: { username: string, name: string } | null };

export type HealthChecksQueryVariables = Exact<{ [key: string]: never; }>;


export type HealthChecksQuery = { healthChecks: Array<{ code: HealthCode, title: string, state: HealthState, since: string, checkedAt: string, finding: string, meaning: string, advice: string, docsUrl: string, mutedUntil: string | null, mutedBy: { username: string, name: string } | null }> };

export type MuteHealthCheckMutationVariables = Exact<{
  input: MuteHealthCheckInput;
}>;


export type MuteHealthCheckMutation = { muteHealthCheck: { healthCheck: { code: HealthCode, title: string, state: HealthState, since: string, checkedAt: string, finding: string, meaning: string, advice: string, docsUrl: string, mutedUntil: string | null, mutedBy: { username: string, name: string } | null } } };

export type HealthQueryVariables = Exact<{
  encryption: boolean;
}>;


export type HealthQuery = { applicationsHost: string, serverInfo: { version: string, commit: string | null, accessUrl: string, deploymentId: string, passwordAuth: boolean, sendsPasscodes: boolean, identityProviders: Array<{ label: string, type: IdentityProviderType }> }, encryptionStatus?: { activeKeyId: string | null, keys: Array<{ id: string, present: boolean, rows: Array<{ table: string, count: number }> }> }, regions: Array<{ id: string, name: string, displayName: string, healthy: boolean, pathAppUrl: string }> };

export const HealthChecks = operation<HealthChecksQuery, HealthChecksQueryVariables>("fragment HealthCheckRow on HealthCheck { code title state since checkedAt finding meaning advice docsUrl mutedUntil mutedBy { username name } } query HealthChecks { healthChecks { ...HealthCheckRow } }");
export const MuteHealthCheck = operation<MuteHealthCheckMutation, MuteHealthCheckMutationVariables>("fragment HealthCheckRow on HealthCheck { code title state since checkedAt finding meaning advice docsUrl mutedUntil mutedBy { username name } } mutation MuteHealthCheck($input: MuteHealthCheckInput!) { muteHealthCheck(input: $input) { healthCheck { ...HealthCheckRow } } }", {"code":{"type":"HealthCode","kind":"choice","isRequired":true,"options":["ACCESS_URL","BACKUPS","CLOCK","DAEMONS","DAEMON_TAGS","DATABASE_LATENCY","DATABASE_POOL","DATABASE_SETTINGS","DATABASE_SIZE","DATABASE_VERSION","DISK","ENCRYPTION_KEYS","ENDING_KEYS","EVENTS","JOB_QUEUE","LICENSES","MAIL","MIGRATIONS","NOTIFICATION_QUEUE","REPLICA_VERSIONS","STANDBY","TASK_INPUT_QUEUE","TIME_ZONES","WEBHOOK","WORKSPACE_PROXIES"]},"until":{"type":"DateTime"}});
export const Health = operation<HealthQuery, HealthQueryVariables>("query Health($encryption: Boolean!) { serverInfo { version commit accessUrl deploymentId passwordAuth sendsPasscodes identityProviders { label type } } encryptionStatus @include(if: $encryption) { activeKeyId keys { id present rows { table count } } } regions { id name displayName healthy pathAppUrl } applicationsHost }");