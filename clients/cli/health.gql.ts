// Generated from health.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
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

export type MuteHealthCheckInput = {
  code: HealthCode;
  until?: string | null | undefined;
};

export type HealthChecksQueryVariables = Exact<{ [key: string]: never; }>;


export type HealthChecksQuery = { healthChecks: Array<{ code: HealthCode, title: string, state: HealthState, since: string, checkedAt: string, finding: string, advice: string, docsUrl: string, mutedUntil: string | null }> };

export type MuteHealthCheckMutationVariables = Exact<{
  input: MuteHealthCheckInput;
}>;


export type MuteHealthCheckMutation = { muteHealthCheck: { healthCheck: { code: HealthCode, title: string, mutedUntil: string | null } } };

export const HealthChecks = operation<HealthChecksQuery, HealthChecksQueryVariables>("query HealthChecks { healthChecks { code title state since checkedAt finding advice docsUrl mutedUntil } }");
export const MuteHealthCheck = operation<MuteHealthCheckMutation, MuteHealthCheckMutationVariables>("mutation MuteHealthCheck($input: MuteHealthCheckInput!) { muteHealthCheck(input: $input) { healthCheck { code title mutedUntil } } }");