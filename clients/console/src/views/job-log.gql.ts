// Generated from job-log.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ProvisionerLogLevel =
  | 'DEBUG'
  | 'ERROR'
  | 'INFO'
  | 'TRACE'
  | 'WARN';

export type JobLogAppendedSubscriptionVariables = Exact<{
  jobId: string;
  after?: string | null | undefined;
}>;


export type JobLogAppendedSubscription = { provisionerJobLogAppended: { id: string, stage: string, output: string, level: ProvisionerLogLevel } };

export const JobLogAppended = operation<JobLogAppendedSubscription, JobLogAppendedSubscriptionVariables>("subscription JobLogAppended($jobId: UUID!, $after: UUID) { provisionerJobLogAppended(jobId: $jobId, after: $after) { id stage output level } }");