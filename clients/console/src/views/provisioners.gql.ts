// Generated from provisioners.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CancelProvisionerJobInput = {
  job: string;
};

export type CreateProvisionerKeyInput = {
  name?: string | null | undefined;
  organization: string;
  tags?: Record<string, unknown> | null | undefined;
};

export type DeleteProvisionerDaemonInput = {
  id: string;
};

export type DeleteProvisionerKeyInput = {
  name: string;
  organization: string;
};

export type EndProvisionerKeyFormerSecretInput = {
  name: string;
  organization: string;
};

export type ProvisionerDaemonStatus =
  | 'BUSY'
  | 'IDLE'
  | 'OFFLINE';

export type ProvisionerJobFilter = {
  ids?: Array<string> | null | undefined;
  initiator?: string | null | undefined;
  status?: Array<ProvisionerJobStatus> | null | undefined;
  tags?: Record<string, unknown> | null | undefined;
  type?: ProvisionerJobType | null | undefined;
};

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type ProvisionerJobType =
  | 'TEMPLATE_VERSION_DRY_RUN'
  | 'TEMPLATE_VERSION_IMPORT'
  | 'WORKSPACE_BUILD';

export type RotateProvisionerKeyInput = {
  name: string;
  organization: string;
  overlapSeconds?: number | null | undefined;
};

export type WorkspaceTransition =
  | 'DELETE'
  | 'START'
  | 'STOP';

export type ProvisionersQueryVariables = Exact<{
  organization: string;
  keys: boolean;
}>;


export type ProvisionersQuery = { provisionerDaemons: Array<{ id: string, name: string, version: string, status: ProvisionerDaemonStatus, keyName: string, tags: Record<string, unknown>, provisioners: Array<string>, createdAt: string, lastSeenAt: string, currentJob: { id: string, status: ProvisionerJobStatus } | null }>, provisionerKeys?: Array<{ id: string, name: string, tags: Record<string, unknown>, createdAt: string, lastUsedAt: string | null, formerSecret: { endsAt: string, lastUsedAt: string | null } | null }> };

export type RotateProvisionerKeyMutationVariables = Exact<{
  input: RotateProvisionerKeyInput;
}>;


export type RotateProvisionerKeyMutation = { rotateProvisionerKey: { key: string, provisionerKey: { id: string, name: string } } };

export type EndProvisionerKeyFormerSecretMutationVariables = Exact<{
  input: EndProvisionerKeyFormerSecretInput;
}>;


export type EndProvisionerKeyFormerSecretMutation = { endProvisionerKeyFormerSecret: { provisionerKey: { id: string } } };

export type CreateProvisionerKeyMutationVariables = Exact<{
  input: CreateProvisionerKeyInput;
}>;


export type CreateProvisionerKeyMutation = { createProvisionerKey: { key: string, provisionerKey: { id: string, name: string } } };

export type DeleteProvisionerKeyMutationVariables = Exact<{
  input: DeleteProvisionerKeyInput;
}>;


export type DeleteProvisionerKeyMutation = { deleteProvisionerKey: { provisionerKey: { id: string } } };

export type DeleteProvisionerDaemonMutationVariables = Exact<{
  input: DeleteProvisionerDaemonInput;
}>;


export type DeleteProvisionerDaemonMutation = { deleteProvisionerDaemon: { provisionerDaemon: { id: string } } };

export type JobsQueryVariables = Exact<{
  organization: string;
  filter?: ProvisionerJobFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type JobsQuery = { provisionerJobs: { totalCount: number, nodes: Array<{ id: string, type: ProvisionerJobType, status: ProvisionerJobStatus, createdAt: string, completedAt: string | null, queuePosition: number, queueSize: number, workerName: string, error: string | null, initiator: { id: string, username: string, name: string }, metadata: { templateName: string, templateVersionName: string, workspaceName: string | null, workspaceBuildTransition: WorkspaceTransition | null } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type JobQueryVariables = Exact<{
  id: string;
}>;


export type JobQuery = { provisionerJob: { id: string, type: ProvisionerJobType, status: ProvisionerJobStatus, error: string | null, createdAt: string, startedAt: string | null, completedAt: string | null, canceledAt: string | null, tags: Record<string, unknown>, queuePosition: number, queueSize: number, workerName: string, organizationId: string, initiatorId: string, matchedProvisioners: { count: number, available: number }, initiator: { id: string, username: string, name: string }, metadata: { templateId: string | null, templateName: string, templateVersionName: string, workspaceId: string | null, workspaceName: string | null } } | null };

export type CancelJobMutationVariables = Exact<{
  input: CancelProvisionerJobInput;
}>;


export type CancelJobMutation = { cancelProvisionerJob: { provisionerJob: { id: string } } };

export const Provisioners = operation<ProvisionersQuery, ProvisionersQueryVariables>("query Provisioners($organization: String!, $keys: Boolean!) { provisionerDaemons(organization: $organization) { id name version status keyName tags provisioners createdAt lastSeenAt currentJob { id status } } provisionerKeys(organization: $organization) @include(if: $keys) { id name tags createdAt lastUsedAt formerSecret { endsAt lastUsedAt } } }");
export const RotateProvisionerKey = operation<RotateProvisionerKeyMutation, RotateProvisionerKeyMutationVariables>("mutation RotateProvisionerKey($input: RotateProvisionerKeyInput!) { rotateProvisionerKey(input: $input) { key provisionerKey { id name } } }", {"name":{"type":"String","kind":"reference","isRequired":true},"organization":{"type":"String","kind":"reference","isRequired":true},"overlapSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":2592000},"words":"from 0 to 2592000"}});
export const EndProvisionerKeyFormerSecret = operation<EndProvisionerKeyFormerSecretMutation, EndProvisionerKeyFormerSecretMutationVariables>("mutation EndProvisionerKeyFormerSecret($input: EndProvisionerKeyFormerSecretInput!) { endProvisionerKeyFormerSecret(input: $input) { provisionerKey { id } } }", {"name":{"type":"String","kind":"reference","isRequired":true},"organization":{"type":"String","kind":"reference","isRequired":true}});
export const CreateProvisionerKey = operation<CreateProvisionerKeyMutation, CreateProvisionerKeyMutationVariables>("mutation CreateProvisionerKey($input: CreateProvisionerKeyInput!) { createProvisionerKey(input: $input) { key provisionerKey { id name } } }", {"name":{"type":"String","limits":{"maxLength":64,"pattern":"^$|^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$"}},"organization":{"type":"String","kind":"reference","isRequired":true},"tags":{"type":"JSONObject","limits":{"maxProperties":20}}});
export const DeleteProvisionerKey = operation<DeleteProvisionerKeyMutation, DeleteProvisionerKeyMutationVariables>("mutation DeleteProvisionerKey($input: DeleteProvisionerKeyInput!) { deleteProvisionerKey(input: $input) { provisionerKey { id } } }", {"name":{"type":"String","kind":"reference","isRequired":true},"organization":{"type":"String","kind":"reference","isRequired":true}});
export const DeleteProvisionerDaemon = operation<DeleteProvisionerDaemonMutation, DeleteProvisionerDaemonMutationVariables>("mutation DeleteProvisionerDaemon($input: DeleteProvisionerDaemonInput!) { deleteProvisionerDaemon(input: $input) { provisionerDaemon { id } } }", {"id":{"type":"UUID","isRequired":true}});
export const Jobs = operation<JobsQuery, JobsQueryVariables>("query Jobs($organization: String!, $filter: ProvisionerJobFilter, $first: Int, $after: String, $last: Int, $before: String) { provisionerJobs( organization: $organization filter: $filter first: $first after: $after last: $last before: $before ) { totalCount nodes { id type status createdAt completedAt queuePosition queueSize workerName error initiator { id username name } metadata { templateName templateVersionName workspaceName workspaceBuildTransition } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const Job = operation<JobQuery, JobQueryVariables>("query Job($id: UUID!) { provisionerJob(id: $id) { id type status error createdAt startedAt completedAt canceledAt tags queuePosition queueSize workerName organizationId initiatorId matchedProvisioners { count available } initiator { id username name } metadata { templateId templateName templateVersionName workspaceId workspaceName } } }");
export const CancelJob = operation<CancelJobMutation, CancelJobMutationVariables>("mutation CancelJob($input: CancelProvisionerJobInput!) { cancelProvisionerJob(input: $input) { provisionerJob { id } } }", {"job":{"type":"String","kind":"reference","isRequired":true}});