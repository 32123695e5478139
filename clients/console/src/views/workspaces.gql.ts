// Generated from workspaces.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AcceptWorkspaceTransferInput = {
  id: string;
};

export type AgentStatus =
  | 'CONNECTED'
  | 'CONNECTING'
  | 'DISCONNECTED'
  | 'TIMEOUT';

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

export type DeclineWorkspaceTransferInput = {
  id: string;
};

export type OrderDirection =
  | 'ASC'
  | 'DESC';

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

export type TemplateParameterKind =
  | 'BOOL'
  | 'LIST'
  | 'NUMBER'
  | 'STRING';

export type TransferWorkspacesInput = {
  receiver?: string | null | undefined;
  workspaces: Array<string>;
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

export type WorkspaceOrder = {
  direction: OrderDirection;
  field: WorkspaceOrderField;
};

export type WorkspaceOrderField =
  | 'LAST_USED_AT';

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

export type WorkspacesQueryVariables = Exact<{
  filter?: WorkspaceFilter | null | undefined;
  orderBy?: WorkspaceOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspacesQuery = { workspaces: { totalCount: number, nodes: Array<{ id: string, name: string, status: WorkspaceStatus, isPrebuild: boolean, dormantAt: string | null, deadline: string | null, lastUsedAt: string, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string, name: string }, template: { id: string, name: string, displayName: string }, latestBuild: { id: string, dailyCost: number } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type UsableTemplatesQueryVariables = Exact<{ [key: string]: never; }>;


export type UsableTemplatesQuery = { templates: { nodes: Array<{ id: string, name: string, displayName: string, deprecationMessage: string, activeVersion: { id: string, hasAiTask: boolean, presets: Array<{ id: string, name: string, displayName: string }> } | null }> } };

export type WorkspaceCostQueryVariables = Exact<{
  templateVersionId: string;
}>;


export type WorkspaceCostQuery = { workspaceCost: { needs: number | null, budget: number, creditsConsumed: number, exceeds: boolean, isEnforced: boolean } | null };

export type TemplateParametersQueryVariables = Exact<{
  id: string;
}>;


export type TemplateParametersQuery = { template: { id: string, name: string, displayName: string, activeVersion: { id: string, parameters: Array<{ name: string, displayName: string, description: string, type: TemplateParameterKind, defaultValue: string | null, isMutable: boolean, isEphemeral: boolean, options: Array<{ name: string, value: string }> }>, presets: Array<{ id: string, name: string, displayName: string, parameters: Array<{ name: string, value: string }> }> } | null } | null };

export type CreateWorkspaceMutationVariables = Exact<{
  input: CreateWorkspaceInput;
}>;


export type CreateWorkspaceMutation = { createWorkspace: { workspace: { id: string } } };

export type StartWorkspaceMutationVariables = Exact<{
  input: StartWorkspaceInput;
}>;


export type StartWorkspaceMutation = { startWorkspace: { workspace: { id: string } } };

export type RestartWorkspaceMutationVariables = Exact<{
  input: RestartWorkspaceInput;
}>;


export type RestartWorkspaceMutation = { restartWorkspace: { workspace: { id: string } } };

export type StopWorkspaceMutationVariables = Exact<{
  input: StopWorkspaceInput;
}>;


export type StopWorkspaceMutation = { stopWorkspace: { workspace: { id: string } } };

export type OfferedWorkspacesQueryVariables = Exact<{ [key: string]: never; }>;


export type OfferedWorkspacesQuery = { workspaceTransfers: Array<{ id: string, workspaceName: string, createdAt: string, expiresAt: string, formerOwner: { id: string, username: string, name: string }, offeredBy: { id: string, username: string, name: string } }> };

export type TransferWorkspacesMutationVariables = Exact<{
  input: TransferWorkspacesInput;
}>;


export type TransferWorkspacesMutation = { transferWorkspaces: { isOffered: boolean } };

export type AcceptWorkspaceTransferMutationVariables = Exact<{
  input: AcceptWorkspaceTransferInput;
}>;


export type AcceptWorkspaceTransferMutation = { acceptWorkspaceTransfer: { workspaceId: string } };

export type DeclineWorkspaceTransferMutationVariables = Exact<{
  input: DeclineWorkspaceTransferInput;
}>;


export type DeclineWorkspaceTransferMutation = { declineWorkspaceTransfer: { workspaceId: string } };

export const Workspaces = operation<WorkspacesQuery, WorkspacesQueryVariables>("query Workspaces($filter: WorkspaceFilter, $orderBy: WorkspaceOrder, $first: Int, $after: String, $last: Int, $before: String) { workspaces( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id name status health { state reason since help } isPrebuild dormantAt deadline lastUsedAt owner { id username name } template { id name displayName } latestBuild { id dailyCost } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const UsableTemplates = operation<UsableTemplatesQuery, UsableTemplatesQueryVariables>("query UsableTemplates { templates(first: 100) { nodes { id name displayName deprecationMessage activeVersion { id hasAiTask presets { id name displayName } } } } }");
export const WorkspaceCost = operation<WorkspaceCostQuery, WorkspaceCostQueryVariables>("query WorkspaceCost($templateVersionId: UUID!) { workspaceCost(templateVersionId: $templateVersionId) { needs budget creditsConsumed exceeds isEnforced } }");
export const TemplateParameters = operation<TemplateParametersQuery, TemplateParametersQueryVariables>("query TemplateParameters($id: UUID!) { template(id: $id) { id name displayName activeVersion { id parameters { name displayName description type defaultValue isMutable isEphemeral options { name value } } presets { id name displayName parameters { name value } } } } }");
export const CreateWorkspace = operation<CreateWorkspaceMutation, CreateWorkspaceMutationVariables>("mutation CreateWorkspace($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }", {"automaticUpdates":{"type":"Boolean","hint":"Whether its starts take the active version, where the template leaves that to the owner. Default: false."},"autostartSchedule":{"type":"String","hint":"When it starts by itself: minute, hour, and days of the week of a cron expression, `0 9 * * 1-5`, after `CRON_TZ=<IANA zone>` if not in UTC. Default: never.","limits":{"pattern":"^\\s*((CRON_TZ=\\S+\\s+)?\\d{1,2}\\s+\\d{1,2}(\\s+\\S+){3}\\s*)?$"}},"name":{"type":"String","hint":"Unique among the owner's workspaces: at most 32 letters, digits, and single hyphens between them.","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them","isRequired":true},"owner":{"type":"String","hint":"Owner: ID, username, or `me`, which is the default.","kind":"reference"},"parameters":{"type":"WorkspaceParameterInput","hint":"Values of parameters. Others come from the preset, or are the default.","isList":true,"fields":{"name":{"type":"String","hint":"Name of the parameter.","isRequired":true},"value":{"type":"String","hint":"Value, as text: numbers, `true` or `false`, lists as JSON.","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}},"presetId":{"type":"UUID","hint":"ID of a preset of the version."},"templateId":{"type":"UUID","hint":"ID of the template, whose active version is used."},"templateVersionId":{"type":"UUID","hint":"ID of the template version, instead of `templateId`."},"ttlSeconds":{"type":"Int","hint":"Seconds that it runs after a start; 0 sets no limit. Default: as the template says.","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"}});
export const StartWorkspace = operation<StartWorkspaceMutation, StartWorkspaceMutationVariables>("mutation StartWorkspace($input: StartWorkspaceInput!) { startWorkspace(input: $input) { workspace { id } } }", {"parameters":{"type":"WorkspaceParameterInput","hint":"Values of parameters. Others come from the previous build, the preset, or are the default.","isList":true,"fields":{"name":{"type":"String","hint":"Name of the parameter.","isRequired":true},"value":{"type":"String","hint":"Value, as text: numbers, `true` or `false`, lists as JSON.","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}},"presetId":{"type":"UUID","hint":"ID of a preset of the version."},"reason":{"type":"WorkspaceStartReason","hint":"The program that requests the start. Default: the user.","kind":"choice","options":["CLI","DASHBOARD","JETBRAINS_CONNECTION","SSH_CONNECTION","VSCODE_CONNECTION"]},"templateVersionId":{"type":"UUID","hint":"ID of a version of its template. Default: that of the previous build."},"workspace":{"type":"String","hint":"The workspace: ID, or `<owner>/<name>`, where the owner may be `me`.","kind":"reference","isRequired":true}});
export const RestartWorkspace = operation<RestartWorkspaceMutation, RestartWorkspaceMutationVariables>("mutation RestartWorkspace($input: RestartWorkspaceInput!) { restartWorkspace(input: $input) { workspace { id } } }", {"parameters":{"type":"WorkspaceParameterInput","hint":"Values of parameters. Others come from the previous build, the preset, or are the default.","isList":true,"fields":{"name":{"type":"String","hint":"Name of the parameter.","isRequired":true},"value":{"type":"String","hint":"Value, as text: numbers, `true` or `false`, lists as JSON.","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}},"presetId":{"type":"UUID","hint":"ID of a preset of the version."},"reason":{"type":"WorkspaceStartReason","hint":"The program that requests the start. Default: the user.","kind":"choice","options":["CLI","DASHBOARD","JETBRAINS_CONNECTION","SSH_CONNECTION","VSCODE_CONNECTION"]},"templateVersionId":{"type":"UUID","hint":"ID of a version of its template. Default: that of the previous build."},"workspace":{"type":"String","hint":"The workspace: ID, or `<owner>/<name>`, where the owner may be `me`.","kind":"reference","isRequired":true}});
export const StopWorkspace = operation<StopWorkspaceMutation, StopWorkspaceMutationVariables>("mutation StopWorkspace($input: StopWorkspaceInput!) { stopWorkspace(input: $input) { workspace { id } } }", {"workspace":{"type":"String","hint":"The workspace: ID, or `<owner>/<name>`, where the owner may be `me`.","kind":"reference","isRequired":true}});
export const OfferedWorkspaces = operation<OfferedWorkspacesQuery, OfferedWorkspacesQueryVariables>("query OfferedWorkspaces { workspaceTransfers { id workspaceName createdAt expiresAt formerOwner { id username name } offeredBy { id username name } } }");
export const TransferWorkspaces = operation<TransferWorkspacesMutation, TransferWorkspacesMutationVariables>("mutation TransferWorkspaces($input: TransferWorkspacesInput!) { transferWorkspaces(input: $input) { isOffered } }", {"receiver":{"type":"String","hint":"The new owner: ID, username, or `me`, a member of their organizations. Another user than the caller has to accept them. Default: `me`.","kind":"reference"},"workspaces":{"type":"String","hint":"The workspaces, 1 to 50: IDs, or `<owner>/<name>`. Each must be stopped.","kind":"reference","limits":{"minItems":1,"maxItems":50},"isRequired":true,"isList":true}});
export const AcceptWorkspaceTransfer = operation<AcceptWorkspaceTransferMutation, AcceptWorkspaceTransferMutationVariables>("mutation AcceptWorkspaceTransfer($input: AcceptWorkspaceTransferInput!) { acceptWorkspaceTransfer(input: $input) { workspaceId } }", {"id":{"type":"UUID","hint":"ID of the offer.","isRequired":true}});
export const DeclineWorkspaceTransfer = operation<DeclineWorkspaceTransferMutation, DeclineWorkspaceTransferMutationVariables>("mutation DeclineWorkspaceTransfer($input: DeclineWorkspaceTransferInput!) { declineWorkspaceTransfer(input: $input) { workspaceId } }", {"id":{"type":"UUID","hint":"ID of the offer.","isRequired":true}});