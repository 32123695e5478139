// Generated from builds.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
export type AgentLogLevel =
  | 'DEBUG'
  | 'ERROR'
  | 'INFO'
  | 'TRACE'
  | 'WARN';

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type ProvisionerLogLevel =
  | 'DEBUG'
  | 'ERROR'
  | 'INFO'
  | 'TRACE'
  | 'WARN';

export type JobQueryVariables = Exact<{
  id: string;
}>;


export type JobQuery = { provisionerJob: { id: string, status: ProvisionerJobStatus, error: string | null, provisioner: string, matchedProvisioners: { count: number, available: number } } | null };

export type JobLogQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type JobLogQuery = { provisionerJob: { id: string, logs: { nodes: Array<{ id: string, createdAt: string, level: ProvisionerLogLevel, stage: string, output: string }>, pageInfo: { endCursor: string | null, hasNextPage: boolean } } } | null };

export type JobLogAppendedSubscriptionVariables = Exact<{
  jobId: string;
  after?: string | null | undefined;
}>;


export type JobLogAppendedSubscription = { line: { id: string, createdAt: string, level: ProvisionerLogLevel, stage: string, output: string } };

export type AgentLogQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type AgentLogQuery = { workspaceAgent: { id: string, logs: { nodes: Array<{ id: string, createdAt: string, level: AgentLogLevel, output: string }>, pageInfo: { endCursor: string | null, hasNextPage: boolean } } } | null };

export type AgentLogAppendedSubscriptionVariables = Exact<{
  agentId: string;
  after?: string | null | undefined;
}>;


export type AgentLogAppendedSubscription = { line: { id: string, createdAt: string, level: AgentLogLevel, output: string } };

export const Job = operation<JobQuery, JobQueryVariables>("query Job($id: UUID!) { provisionerJob(id: $id) { id status error provisioner matchedProvisioners { count available } } }");
export const JobLog = operation<JobLogQuery, JobLogQueryVariables>("query JobLog($id: UUID!, $after: String) { provisionerJob(id: $id) { id logs(first: 1000, after: $after) { nodes { id createdAt level stage output } pageInfo { endCursor hasNextPage } } } }");
export const JobLogAppended = operation<JobLogAppendedSubscription, JobLogAppendedSubscriptionVariables>("subscription JobLogAppended($jobId: UUID!, $after: UUID) { line: provisionerJobLogAppended(jobId: $jobId, after: $after) { id createdAt level stage output } }");
export const AgentLog = operation<AgentLogQuery, AgentLogQueryVariables>("query AgentLog($id: UUID!, $after: String) { workspaceAgent(id: $id) { id logs(first: 1000, after: $after) { nodes { id createdAt level output } pageInfo { endCursor hasNextPage } } } }");
export const AgentLogAppended = operation<AgentLogAppendedSubscription, AgentLogAppendedSubscriptionVariables>("subscription AgentLogAppended($agentId: UUID!, $after: String) { line: workspaceAgentLogAppended(agentId: $agentId, after: $after) { id createdAt level output } }");