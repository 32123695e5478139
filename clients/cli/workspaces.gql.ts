// Generated from workspaces.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
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

export type CancelProvisionerJobInput = {
  job: string;
};

export type CreateWorkspaceInput = {
  automaticUpdates?: boolean | null | undefined;
  autostartSchedule?: string | null | undefined;
  name: string;
  owner?: string | null | undefined;
  parameters?: Array<WorkspaceParameterInput> | null | undefined;
  presetId?: string | null | undefined;
  templateId?: string | null | undefined;
  templateVersionId?: string | null | undefined;
  ttlSeconds?: number | null | undefined;
};

export type DeleteWorkspaceInput = {
  orphan?: boolean | null | undefined;
  workspace: string;
};

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type RestartWorkspaceInput = {
  parameters?: Array<WorkspaceParameterInput> | null | undefined;
  presetId?: string | null | undefined;
  reason?: WorkspaceStartReason | null | undefined;
  templateVersionId?: string | null | undefined;
  workspace: string;
};

export type StartWorkspaceInput = {
  parameters?: Array<WorkspaceParameterInput> | null | undefined;
  presetId?: string | null | undefined;
  reason?: WorkspaceStartReason | null | undefined;
  templateVersionId?: string | null | undefined;
  workspace: string;
};

export type StopWorkspaceInput = {
  workspace: string;
};

export type UserStatus =
  | 'ACTIVE'
  | 'SUSPENDED';

export type WorkspaceFilter = {
  dormant?: boolean | null | undefined;
  hasAgent?: AgentStatus | null | undefined;
  organization?: string | null | undefined;
  owner?: string | null | undefined;
  ownerStatus?: UserStatus | null | undefined;
  search?: string | null | undefined;
  status?: WorkspaceStatus | null | undefined;
  templateId?: string | null | undefined;
  unhealthy?: boolean | null | undefined;
};

export type WorkspaceHealthState =
  | 'HEALTHY'
  | 'IN_PROGRESS'
  | 'UNHEALTHY';

export type WorkspaceParameterInput = {
  name: string;
  value: string;
};

export type WorkspaceStartReason =
  | 'CLI'
  | 'DASHBOARD'
  | 'JETBRAINS_CONNECTION'
  | 'SSH_CONNECTION'
  | 'VSCODE_CONNECTION';

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

export type WorkspaceRowFragment = { id: string, name: string, status: WorkspaceStatus, isOutdated: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, createdAt: string, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string }, organization: { id: string, name: string }, template: { id: string, name: string, activeVersion: { id: string, name: string } | null } };

export type WorkspacesQueryVariables = Exact<{
  filter?: WorkspaceFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type WorkspacesQuery = { workspaces: { totalCount: number, nodes: Array<{ id: string, name: string, status: WorkspaceStatus, isOutdated: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, createdAt: string, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string }, organization: { id: string, name: string }, template: { id: string, name: string, activeVersion: { id: string, name: string } | null } }> } };

export type WorkspacePartsFragment = { id: string, name: string, status: WorkspaceStatus, isOutdated: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, createdAt: string, usage: { cpuUsedMillicores: number | null, cpuTotalMillicores: number | null, memoryUsedBytes: number | null, memoryTotalBytes: number | null, diskUsedBytes: number | null, diskTotalBytes: number | null, reportedAt: string } | null, latestBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, templateVersionName: string, parameters: Array<{ name: string, value: string }>, job: { id: string, status: ProvisionerJobStatus, error: string | null }, resources: Array<{ name: string, agents: Array<{ id: string, name: string, status: AgentStatus, lifecycleState: AgentLifecycle, expandedDirectory: string, apps: Array<{ slug: string, displayName: string, health: AppHealth, hidden: boolean, url: string }> }> }> } | null, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string }, organization: { id: string, name: string }, template: { id: string, name: string, activeVersion: { id: string, name: string } | null } };

export type WorkspaceQueryVariables = Exact<{
  id: string;
}>;


export type WorkspaceQuery = { workspace: { id: string, name: string, status: WorkspaceStatus, isOutdated: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, createdAt: string, usage: { cpuUsedMillicores: number | null, cpuTotalMillicores: number | null, memoryUsedBytes: number | null, memoryTotalBytes: number | null, diskUsedBytes: number | null, diskTotalBytes: number | null, reportedAt: string } | null, latestBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, templateVersionName: string, parameters: Array<{ name: string, value: string }>, job: { id: string, status: ProvisionerJobStatus, error: string | null }, resources: Array<{ name: string, agents: Array<{ id: string, name: string, status: AgentStatus, lifecycleState: AgentLifecycle, expandedDirectory: string, apps: Array<{ slug: string, displayName: string, health: AppHealth, hidden: boolean, url: string }> }> }> } | null, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string }, organization: { id: string, name: string }, template: { id: string, name: string, activeVersion: { id: string, name: string } | null } } | null };

export type WorkspaceByNameQueryVariables = Exact<{
  owner: string;
  name: string;
}>;


export type WorkspaceByNameQuery = { workspace: { id: string, name: string, status: WorkspaceStatus, isOutdated: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, createdAt: string, usage: { cpuUsedMillicores: number | null, cpuTotalMillicores: number | null, memoryUsedBytes: number | null, memoryTotalBytes: number | null, diskUsedBytes: number | null, diskTotalBytes: number | null, reportedAt: string } | null, latestBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, templateVersionName: string, parameters: Array<{ name: string, value: string }>, job: { id: string, status: ProvisionerJobStatus, error: string | null }, resources: Array<{ name: string, agents: Array<{ id: string, name: string, status: AgentStatus, lifecycleState: AgentLifecycle, expandedDirectory: string, apps: Array<{ slug: string, displayName: string, health: AppHealth, hidden: boolean, url: string }> }> }> } | null, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string }, organization: { id: string, name: string }, template: { id: string, name: string, activeVersion: { id: string, name: string } | null } } | null };

export type StartedBuildFragment = { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } };

export type CreateWorkspaceMutationVariables = Exact<{
  input: CreateWorkspaceInput;
}>;


export type CreateWorkspaceMutation = { done: { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } } };

export type StartWorkspaceMutationVariables = Exact<{
  input: StartWorkspaceInput;
}>;


export type StartWorkspaceMutation = { done: { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } } };

export type RestartWorkspaceMutationVariables = Exact<{
  input: RestartWorkspaceInput;
}>;


export type RestartWorkspaceMutation = { done: { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } } };

export type LatestBuildQueryVariables = Exact<{
  id: string;
}>;


export type LatestBuildQuery = { workspace: { latestBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } | null } | null };

export type StopWorkspaceMutationVariables = Exact<{
  input: StopWorkspaceInput;
}>;


export type StopWorkspaceMutation = { done: { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } } };

export type DeleteWorkspaceMutationVariables = Exact<{
  input: DeleteWorkspaceInput;
}>;


export type DeleteWorkspaceMutation = { done: { workspaceBuild: { id: string, buildNumber: number, transition: WorkspaceTransition, status: WorkspaceStatus, job: { id: string }, workspace: { id: string, name: string, owner: { id: string, username: string } } } } };

export type CancelBuildMutationVariables = Exact<{
  input: CancelProvisionerJobInput;
}>;


export type CancelBuildMutation = { cancelProvisionerJob: { provisionerJob: { id: string, status: ProvisionerJobStatus } } };

export const Workspaces = operation<WorkspacesQuery, WorkspacesQueryVariables>("fragment WorkspaceRow on Workspace { id name status isOutdated dormantAt deadline lastUsedAt createdAt health { state reason since help } owner { id username } organization { id name } template { id name activeVersion { id name } } } query Workspaces($filter: WorkspaceFilter, $first: Int) { workspaces(filter: $filter, first: $first) { totalCount nodes { ...WorkspaceRow } } }");
export const Workspace = operation<WorkspaceQuery, WorkspaceQueryVariables>("fragment WorkspaceRow on Workspace { id name status isOutdated dormantAt deadline lastUsedAt createdAt health { state reason since help } owner { id username } organization { id name } template { id name activeVersion { id name } } } fragment WorkspaceParts on Workspace { ...WorkspaceRow usage { cpuUsedMillicores cpuTotalMillicores memoryUsedBytes memoryTotalBytes diskUsedBytes diskTotalBytes reportedAt } latestBuild { id buildNumber transition status templateVersionName parameters { name value } job { id status error } resources { name agents { id name status lifecycleState expandedDirectory apps { slug displayName health hidden url } } } } } query Workspace($id: UUID!) { workspace(id: $id) { ...WorkspaceParts } }");
export const WorkspaceByName = operation<WorkspaceByNameQuery, WorkspaceByNameQueryVariables>("fragment WorkspaceRow on Workspace { id name status isOutdated dormantAt deadline lastUsedAt createdAt health { state reason since help } owner { id username } organization { id name } template { id name activeVersion { id name } } } fragment WorkspaceParts on Workspace { ...WorkspaceRow usage { cpuUsedMillicores cpuTotalMillicores memoryUsedBytes memoryTotalBytes diskUsedBytes diskTotalBytes reportedAt } latestBuild { id buildNumber transition status templateVersionName parameters { name value } job { id status error } resources { name agents { id name status lifecycleState expandedDirectory apps { slug displayName health hidden url } } } } } query WorkspaceByName($owner: String!, $name: String!) { workspace: workspaceByName(owner: $owner, name: $name) { ...WorkspaceParts } }");
export const CreateWorkspace = operation<CreateWorkspaceMutation, CreateWorkspaceMutationVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } mutation CreateWorkspace($input: CreateWorkspaceInput!) { done: createWorkspace(input: $input) { workspaceBuild { ...StartedBuild } } }");
export const StartWorkspace = operation<StartWorkspaceMutation, StartWorkspaceMutationVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } mutation StartWorkspace($input: StartWorkspaceInput!) { done: startWorkspace(input: $input) { workspaceBuild { ...StartedBuild } } }");
export const RestartWorkspace = operation<RestartWorkspaceMutation, RestartWorkspaceMutationVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } mutation RestartWorkspace($input: RestartWorkspaceInput!) { done: restartWorkspace(input: $input) { workspaceBuild { ...StartedBuild } } }");
export const LatestBuild = operation<LatestBuildQuery, LatestBuildQueryVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } query LatestBuild($id: UUID!) { workspace(id: $id) { latestBuild { ...StartedBuild } } }");
export const StopWorkspace = operation<StopWorkspaceMutation, StopWorkspaceMutationVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } mutation StopWorkspace($input: StopWorkspaceInput!) { done: stopWorkspace(input: $input) { workspaceBuild { ...StartedBuild } } }");
export const DeleteWorkspace = operation<DeleteWorkspaceMutation, DeleteWorkspaceMutationVariables>("fragment StartedBuild on WorkspaceBuild { id buildNumber transition status job { id } workspace { id name owner { id username } } } mutation DeleteWorkspace($input: DeleteWorkspaceInput!) { done: deleteWorkspace(input: $input) { workspaceBuild { ...StartedBuild } } }");
export const CancelBuild = operation<CancelBuildMutation, CancelBuildMutationVariables>("mutation CancelBuild($input: CancelProvisionerJobInput!) { cancelProvisionerJob(input: $input) { provisionerJob { id status } } }");