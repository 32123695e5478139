// Generated from workspace.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ActivateWorkspaceInput = {
  workspace: string;
};

export type AgentArchitecture =
  | 'AMD64'
  | 'ARM64'
  | 'ARMV7';

export type AgentLifecycle =
  | 'CREATED'
  | 'OFF'
  | 'READY'
  | 'SHUTDOWN_ERROR'
  | 'SHUTDOWN_TIMEOUT'
  | 'SHUTTING_DOWN'
  | 'STARTING'
  | 'START_ERROR'
  | 'START_TIMEOUT';

export type AgentLogLevel =
  | 'DEBUG'
  | 'ERROR'
  | 'INFO'
  | 'TRACE'
  | 'WARN';

export type AgentStatus =
  | 'CONNECTED'
  | 'CONNECTING'
  | 'DISCONNECTED'
  | 'TIMEOUT';

export type AppHealth =
  | 'DISABLED'
  | 'HEALTHY'
  | 'INITIALIZING'
  | 'UNHEALTHY';

export type AppOpenIn =
  | 'SLIM_WINDOW'
  | 'TAB';

export type DeleteWorkspaceInput = {
  orphan?: boolean | null | undefined;
  workspace: string;
};

export type ExtendWorkspaceDeadlineInput = {
  deadline: string;
  workspace: string;
};

export type OperatingSystem =
  | 'DARWIN'
  | 'LINUX'
  | 'WINDOWS';

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type SetWorkspaceSecretInjectionInput = {
  enabled: boolean;
  workspaceId: string;
};

export type UpdateWorkspaceAclInput = {
  groupPerms?: Array<WorkspaceAclChangeInput> | null | undefined;
  userPerms?: Array<WorkspaceAclChangeInput> | null | undefined;
  workspace: string;
};

export type UpdateWorkspaceInput = {
  automaticUpdates?: boolean | null | undefined;
  autostartSchedule?: string | null | undefined;
  name?: string | null | undefined;
  ttlSeconds?: number | null | undefined;
  workspace: string;
};

export type WorkspaceAclChangeInput = {
  expiresAt?: string | null | undefined;
  id: string;
  role?: string | null | undefined;
};

export type WorkspaceBuildReason =
  | 'AUTODELETE'
  | 'AUTOSTART'
  | 'AUTOSTOP'
  | 'CLI'
  | 'DASHBOARD'
  | 'DORMANCY'
  | 'INITIATOR'
  | 'JETBRAINS_CONNECTION'
  | 'OWNER_SUSPENDED'
  | 'SSH_CONNECTION'
  | 'TASK_AUTO_PAUSE'
  | 'TASK_MANUAL_PAUSE'
  | 'TASK_RESUME'
  | 'VSCODE_CONNECTION';

export type WorkspaceHealthState =
  | 'HEALTHY'
  | 'IN_PROGRESS'
  | 'UNHEALTHY';

export type WorkspaceRole =
  | 'ADMIN'
  | 'USE';

export type WorkspaceStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'DELETED'
  | 'DELETING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'STARTING'
  | 'STOPPED'
  | 'STOPPING';

export type WorkspaceTransition =
  | 'DELETE'
  | 'START'
  | 'STOP';

export type WorkspaceQueryVariables = Exact<{
  id: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspaceQuery = { workspace: { id: string, name: string, status: WorkspaceStatus, isPrebuild: boolean, createdAt: string, lastUsedAt: string, dormantAt: string | null, deadline: string | null, ttlSeconds: number | null, autostartSchedule: string | null, nextAutostartAt: string | null, automaticUpdates: boolean, injectUserSecrets: boolean, isOutdated: boolean, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string, name: string }, organization: { id: string, name: string, displayName: string }, template: { id: string, name: string, displayName: string, requireActiveVersion: boolean, activeVersion: { id: string, name: string } | null }, latestBuild: { id: string, buildNumber: number, status: WorkspaceStatus, dailyCost: number, hasExternalAgent: boolean, templateVersionId: string, templateVersionName: string, parameters: Array<{ name: string, value: string }>, job: { id: string, status: ProvisionerJobStatus, error: string | null }, resources: Array<{ id: string, name: string, type: string, dailyCost: number, metadata: Array<{ key: string, value: string, sensitive: boolean }>, agents: Array<{ id: string, name: string, status: AgentStatus, external: boolean, troubleshootingUrl: string, lifecycleState: AgentLifecycle, operatingSystem: OperatingSystem, architecture: AgentArchitecture, health: { healthy: boolean, reason: string | null }, usage: { cpuUsedMillicores: number | null, cpuTotalMillicores: number | null, memoryUsedBytes: number | null, memoryTotalBytes: number | null, diskUsedBytes: number | null, diskTotalBytes: number | null } | null, apps: Array<{ id: string, slug: string, displayName: string, health: AppHealth, hidden: boolean, url: string, command: string, external: boolean, openIn: AppOpenIn, icon: string, tooltip: string, group: string }> }> }> } | null, builds: { totalCount: number, nodes: Array<{ id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, reason: WorkspaceBuildReason, createdAt: string, job: { id: string }, initiator: { id: string, username: string, name: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } } | null };

export type BuildFragment = { id: string, buildNumber: number, status: WorkspaceStatus, dailyCost: number, hasExternalAgent: boolean, templateVersionId: string, templateVersionName: string, parameters: Array<{ name: string, value: string }>, job: { id: string, status: ProvisionerJobStatus, error: string | null }, resources: Array<{ id: string, name: string, type: string, dailyCost: number, metadata: Array<{ key: string, value: string, sensitive: boolean }>, agents: Array<{ id: string, name: string, status: AgentStatus, external: boolean, troubleshootingUrl: string, lifecycleState: AgentLifecycle, operatingSystem: OperatingSystem, architecture: AgentArchitecture, health: { healthy: boolean, reason: string | null }, usage: { cpuUsedMillicores: number | null, cpuTotalMillicores: number | null, memoryUsedBytes: number | null, memoryTotalBytes: number | null, diskUsedBytes: number | null, diskTotalBytes: number | null } | null, apps: Array<{ id: string, slug: string, displayName: string, health: AppHealth, hidden: boolean, url: string, command: string, external: boolean, openIn: AppOpenIn, icon: string, tooltip: string, group: string }> }> }> };

export type BuildLogQueryVariables = Exact<{
  id: string;
}>;


export type BuildLogQuery = { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, reason: WorkspaceBuildReason, createdAt: string, dailyCost: number, deadline: string | null, templateVersionName: string, initiator: { id: string, username: string, name: string }, parameters: Array<{ name: string, value: string }>, workspace: { id: string, name: string }, job: { id: string, status: ProvisionerJobStatus, error: string | null, workerName: string, startedAt: string | null, completedAt: string | null } } | null };

export type AgentLogQueryVariables = Exact<{
  id: string;
}>;


export type AgentLogQuery = { workspaceAgent: { id: string, logs: { nodes: Array<{ id: string, output: string, level: AgentLogLevel }>, pageInfo: { endCursor: string | null } } } | null };

export type AgentLogAppendedSubscriptionVariables = Exact<{
  agentId: string;
  after?: string | null | undefined;
}>;


export type AgentLogAppendedSubscription = { workspaceAgentLogAppended: { id: string, output: string, level: AgentLogLevel } };

export type BuildUpdatedSubscriptionVariables = Exact<{
  workspaceId: string;
}>;


export type BuildUpdatedSubscription = { workspaceBuildUpdated: { id: string, status: WorkspaceStatus, job: { id: string, status: ProvisionerJobStatus } } };

export type ExternalAgentQueryVariables = Exact<{
  workspaceId: string;
  agentName: string;
}>;


export type ExternalAgentQuery = { externalAgentCredentials: { agentToken: string, command: string } | null };

export type WorkspaceSharesQueryVariables = Exact<{
  id: string;
}>;


export type WorkspaceSharesQuery = { workspace: { id: string, acl: { users: Array<{ role: WorkspaceRole, expiresAt: string | null, user: { id: string, username: string, name: string } }>, groups: Array<{ role: WorkspaceRole, expiresAt: string | null, group: { id: string, name: string, displayName: string } }> } | null } | null };

export type UpdateWorkspaceMutationVariables = Exact<{
  input: UpdateWorkspaceInput;
}>;


export type UpdateWorkspaceMutation = { updateWorkspace: { workspace: { id: string } } };

export type DeleteWorkspaceMutationVariables = Exact<{
  input: DeleteWorkspaceInput;
}>;


export type DeleteWorkspaceMutation = { deleteWorkspace: { workspace: { id: string } } };

export type ActivateWorkspaceMutationVariables = Exact<{
  input: ActivateWorkspaceInput;
}>;


export type ActivateWorkspaceMutation = { activateWorkspace: { workspace: { id: string } } };

export type ExtendDeadlineMutationVariables = Exact<{
  input: ExtendWorkspaceDeadlineInput;
}>;


export type ExtendDeadlineMutation = { extendWorkspaceDeadline: { workspace: { id: string } } };

export type SetSecretInjectionMutationVariables = Exact<{
  input: SetWorkspaceSecretInjectionInput;
}>;


export type SetSecretInjectionMutation = { setWorkspaceSecretInjection: { workspace: { id: string } } };

export type UpdateWorkspaceAclMutationVariables = Exact<{
  input: UpdateWorkspaceAclInput;
}>;


export type UpdateWorkspaceAclMutation = { updateWorkspaceAcl: { workspace: { id: string } } };

export const Workspace = operation<WorkspaceQuery, WorkspaceQueryVariables>("query Workspace($id: UUID!, $first: Int, $after: String, $last: Int, $before: String) { workspace(id: $id) { id name status health { state reason since help } isPrebuild createdAt lastUsedAt dormantAt deadline ttlSeconds autostartSchedule nextAutostartAt automaticUpdates injectUserSecrets isOutdated owner { id username name } organization { id name displayName } template { id name displayName requireActiveVersion activeVersion { id name } } latestBuild { ...Build } builds(first: $first, after: $after, last: $last, before: $before) { totalCount nodes { id buildNumber transition status reason createdAt job { id } initiator { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } } fragment Build on WorkspaceBuild { id buildNumber status dailyCost hasExternalAgent templateVersionId templateVersionName parameters { name value } job { id status error } resources { id name type dailyCost metadata { key value sensitive } agents { id name status external troubleshootingUrl lifecycleState operatingSystem architecture health { healthy reason } usage { cpuUsedMillicores cpuTotalMillicores memoryUsedBytes memoryTotalBytes diskUsedBytes diskTotalBytes } apps { id slug displayName health hidden url command external openIn icon tooltip group } } } }");
export const BuildLog = operation<BuildLogQuery, BuildLogQueryVariables>("query BuildLog($id: UUID!) { workspaceBuild(id: $id) { id buildNumber transition status reason createdAt dailyCost deadline templateVersionName initiator { id username name } parameters { name value } workspace { id name } job { id status error workerName startedAt completedAt } } }");
export const AgentLog = operation<AgentLogQuery, AgentLogQueryVariables>("query AgentLog($id: UUID!) { workspaceAgent(id: $id) { id logs(first: 500) { nodes { id output level } pageInfo { endCursor } } } }");
export const AgentLogAppended = operation<AgentLogAppendedSubscription, AgentLogAppendedSubscriptionVariables>("subscription AgentLogAppended($agentId: UUID!, $after: String) { workspaceAgentLogAppended(agentId: $agentId, after: $after) { id output level } }");
export const BuildUpdated = operation<BuildUpdatedSubscription, BuildUpdatedSubscriptionVariables>("subscription BuildUpdated($workspaceId: UUID!) { workspaceBuildUpdated(workspaceId: $workspaceId) { id status job { id status } } }");
export const ExternalAgent = operation<ExternalAgentQuery, ExternalAgentQueryVariables>("query ExternalAgent($workspaceId: UUID!, $agentName: String!) { externalAgentCredentials(workspaceId: $workspaceId, agentName: $agentName) { agentToken command } }");
export const WorkspaceShares = operation<WorkspaceSharesQuery, WorkspaceSharesQueryVariables>("query WorkspaceShares($id: UUID!) { workspace(id: $id) { id acl { users { role expiresAt user { id username name } } groups { role expiresAt group { id name displayName } } } } }");
export const UpdateWorkspace = operation<UpdateWorkspaceMutation, UpdateWorkspaceMutationVariables>("mutation UpdateWorkspace($input: UpdateWorkspaceInput!) { updateWorkspace(input: $input) { workspace { id } } }", {"automaticUpdates":{"type":"Boolean"},"autostartSchedule":{"type":"String","limits":{"pattern":"^\\s*((CRON_TZ=\\S+\\s+)?\\d{1,2}\\s+\\d{1,2}(\\s+\\S+){3}\\s*)?$"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"},"ttlSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"workspace":{"type":"String","kind":"reference","isRequired":true}});
export const DeleteWorkspace = operation<DeleteWorkspaceMutation, DeleteWorkspaceMutationVariables>("mutation DeleteWorkspace($input: DeleteWorkspaceInput!) { deleteWorkspace(input: $input) { workspace { id } } }", {"orphan":{"type":"Boolean"},"workspace":{"type":"String","kind":"reference","isRequired":true}});
export const ActivateWorkspace = operation<ActivateWorkspaceMutation, ActivateWorkspaceMutationVariables>("mutation ActivateWorkspace($input: ActivateWorkspaceInput!) { activateWorkspace(input: $input) { workspace { id } } }", {"workspace":{"type":"String","kind":"reference","isRequired":true}});
export const ExtendDeadline = operation<ExtendDeadlineMutation, ExtendDeadlineMutationVariables>("mutation ExtendDeadline($input: ExtendWorkspaceDeadlineInput!) { extendWorkspaceDeadline(input: $input) { workspace { id } } }", {"deadline":{"type":"DateTime","isRequired":true},"workspace":{"type":"String","kind":"reference","isRequired":true}});
export const SetSecretInjection = operation<SetSecretInjectionMutation, SetSecretInjectionMutationVariables>("mutation SetSecretInjection($input: SetWorkspaceSecretInjectionInput!) { setWorkspaceSecretInjection(input: $input) { workspace { id } } }", {"enabled":{"type":"Boolean","isRequired":true},"workspaceId":{"type":"UUID","isRequired":true}});
export const UpdateWorkspaceAcl = operation<UpdateWorkspaceAclMutation, UpdateWorkspaceAclMutationVariables>("mutation UpdateWorkspaceAcl($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { workspace { id } } }", {"groupPerms":{"type":"WorkspaceAclChangeInput","isList":true,"fields":{"expiresAt":{"type":"DateTime"},"id":{"type":"String","kind":"reference","isRequired":true},"role":{"type":"String","limits":{"pattern":"^([Uu][Ss][Ee]|[Aa][Dd][Mm][Ii][Nn])?$"}}}},"userPerms":{"type":"WorkspaceAclChangeInput","isList":true,"fields":{"expiresAt":{"type":"DateTime"},"id":{"type":"String","kind":"reference","isRequired":true},"role":{"type":"String","limits":{"pattern":"^([Uu][Ss][Ee]|[Aa][Dd][Mm][Ii][Nn])?$"}}}},"workspace":{"type":"String","kind":"reference","isRequired":true}});