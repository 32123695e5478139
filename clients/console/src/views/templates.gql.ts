// Generated from templates.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ArchiveTemplateVersionInput = {
  templateVersionId: string;
};

export type AutomaticUpdates =
  | 'ALWAYS'
  | 'NEVER'
  | 'OWNERS_CHOICE';

export type CreateTemplateInput = {
  activityBumpSeconds?: number | null | undefined;
  allowUserAutostart?: boolean | null | undefined;
  allowUserCancel?: boolean | null | undefined;
  automaticUpdates?: AutomaticUpdates | null | undefined;
  autostartDays?: Array<Weekday> | null | undefined;
  autostopDays?: Array<Weekday> | null | undefined;
  defaultTtlSeconds?: number | null | undefined;
  deleteAfterSeconds?: number | null | undefined;
  deprecationMessage?: string | null | undefined;
  description?: string | null | undefined;
  displayName?: string | null | undefined;
  document: Record<string, unknown>;
  dormantAfterSeconds?: number | null | undefined;
  everyoneCanUse?: boolean | null | undefined;
  icon?: string | null | undefined;
  name: string;
  organization: string;
  requireActiveVersion?: boolean | null | undefined;
  variables?: Array<TemplateVariableInput> | null | undefined;
};

export type CreateTemplateVersionInput = {
  activate?: boolean | null | undefined;
  document: Record<string, unknown>;
  name?: string | null | undefined;
  templateId: string;
  variables?: Array<TemplateVariableInput> | null | undefined;
};

export type DeleteTemplateInput = {
  templateId: string;
};

export type DryRunTemplateVersionInput = {
  parameters?: Array<ParameterInput> | null | undefined;
  presetId?: string | null | undefined;
  templateVersionId: string;
};

export type InvalidateTemplatePresetsInput = {
  templateId: string;
};

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type ParameterInput = {
  name: string;
  value: string;
};

export type PrebuildStatus =
  | 'HARD_LIMITED'
  | 'HEALTHY';

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type SetActiveTemplateVersionInput = {
  templateVersionId: string;
};

export type TemplateAclChangeInput = {
  id: string;
  role?: string | null | undefined;
};

export type TemplateFilter = {
  organization?: string | null | undefined;
  search?: string | null | undefined;
};

export type TemplateOrder = {
  direction: OrderDirection;
  field: TemplateOrderField;
};

export type TemplateOrderField =
  | 'CREATED_AT'
  | 'NAME';

export type TemplateParameterKind =
  | 'BOOL'
  | 'LIST'
  | 'NUMBER'
  | 'STRING';

export type TemplateRole =
  | 'ADMIN'
  | 'USE';

export type TemplateVariableInput = {
  name: string;
  value: string;
};

export type UpdatePrebuildsSettingsInput = {
  reconciliationPaused: boolean;
};

export type UpdateTemplateAclInput = {
  groupPerms?: Array<TemplateAclChangeInput> | null | undefined;
  templateId: string;
  userPerms?: Array<TemplateAclChangeInput> | null | undefined;
};

export type UpdateTemplateInput = {
  activityBumpSeconds?: number | null | undefined;
  allowUserAutostart?: boolean | null | undefined;
  allowUserCancel?: boolean | null | undefined;
  automaticUpdates?: AutomaticUpdates | null | undefined;
  autostartDays?: Array<Weekday> | null | undefined;
  autostopDays?: Array<Weekday> | null | undefined;
  defaultTtlSeconds?: number | null | undefined;
  deleteAfterSeconds?: number | null | undefined;
  deprecationMessage?: string | null | undefined;
  description?: string | null | undefined;
  displayName?: string | null | undefined;
  dormantAfterSeconds?: number | null | undefined;
  icon?: string | null | undefined;
  name?: string | null | undefined;
  requireActiveVersion?: boolean | null | undefined;
  templateId: string;
};

export type Weekday =
  | 'FRIDAY'
  | 'MONDAY'
  | 'SATURDAY'
  | 'SUNDAY'
  | 'THURSDAY'
  | 'TUESDAY'
  | 'WEDNESDAY';

export type TemplatesQueryVariables = Exact<{
  filter?: TemplateFilter | null | undefined;
  orderBy?: TemplateOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type TemplatesQuery = { templates: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, description: string, deprecationMessage: string, createdAt: string, activeVersion: { id: string, name: string } | null, organization: { id: string, name: string, displayName: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type TemplateQueryVariables = Exact<{
  id: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type TemplateQuery = { template: { id: string, name: string, displayName: string, description: string, icon: string, deprecationMessage: string, activityBumpSeconds: number, allowUserAutostart: boolean, allowUserCancel: boolean, automaticUpdates: AutomaticUpdates, autostartDays: Array<Weekday>, autostopDays: Array<Weekday>, defaultTtlSeconds: number, dormantAfterSeconds: number, deleteAfterSeconds: number, requireActiveVersion: boolean, createdAt: string, creator: { id: string, username: string, name: string }, organization: { id: string, name: string, displayName: string }, workspaces: { totalCount: number }, activeVersion: { id: string, name: string, document: Record<string, unknown> | null, presets: Array<{ id: string, name: string, displayName: string, description: string, isDefault: boolean, prebuildInstances: number, prebuildStatus: PrebuildStatus, lastInvalidatedAt: string | null, parameters: Array<{ name: string, value: string }> }> } | null, versions: { totalCount: number, nodes: Array<{ id: string, name: string, createdAt: string, isImported: boolean, archivedAt: string | null, creator: { id: string, username: string, name: string }, job: { id: string, status: ProvisionerJobStatus, error: string | null } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } } | null };

export type TemplateAclQueryVariables = Exact<{
  templateId: string;
}>;


export type TemplateAclQuery = { templateAcl: { users: Array<{ role: TemplateRole, user: { id: string, username: string, name: string } }>, groups: Array<{ role: TemplateRole, group: { id: string, name: string, displayName: string } }> } | null, templateAclAvailable: { groups: Array<{ id: string, name: string, displayName: string }> } | null };

export type TemplateCandidatesQueryVariables = Exact<{
  templateId: string;
  search: string;
}>;


export type TemplateCandidatesQuery = { templateAclAvailable: { users: { nodes: Array<{ id: string, username: string, name: string }> } } | null };

export type CreateTemplateMutationVariables = Exact<{
  input: CreateTemplateInput;
}>;


export type CreateTemplateMutation = { createTemplate: { template: { id: string } } };

export type UpdateTemplateMutationVariables = Exact<{
  input: UpdateTemplateInput;
}>;


export type UpdateTemplateMutation = { updateTemplate: { template: { id: string } } };

export type DeleteTemplateMutationVariables = Exact<{
  input: DeleteTemplateInput;
}>;


export type DeleteTemplateMutation = { deleteTemplate: { template: { id: string } } };

export type CreateTemplateVersionMutationVariables = Exact<{
  input: CreateTemplateVersionInput;
}>;


export type CreateTemplateVersionMutation = { createTemplateVersion: { templateVersion: { id: string } } };

export type SetActiveTemplateVersionMutationVariables = Exact<{
  input: SetActiveTemplateVersionInput;
}>;


export type SetActiveTemplateVersionMutation = { setActiveTemplateVersion: { template: { id: string } } };

export type ArchiveTemplateVersionMutationVariables = Exact<{
  input: ArchiveTemplateVersionInput;
}>;


export type ArchiveTemplateVersionMutation = { archiveTemplateVersion: { templateVersion: { id: string } } };

export type UpdateTemplateAclMutationVariables = Exact<{
  input: UpdateTemplateAclInput;
}>;


export type UpdateTemplateAclMutation = { updateTemplateAcl: { templateAcl: { users: Array<{ role: TemplateRole }> } } };

export type InvalidatePresetsMutationVariables = Exact<{
  input: InvalidateTemplatePresetsInput;
}>;


export type InvalidatePresetsMutation = { invalidateTemplatePresets: { invalidated: Array<{ presetName: string }> } };

export type PrebuildsQueryVariables = Exact<{ [key: string]: never; }>;


export type PrebuildsQuery = { prebuildsSettings: { reconciliationPaused: boolean } };

export type UpdatePrebuildsMutationVariables = Exact<{
  input: UpdatePrebuildsSettingsInput;
}>;


export type UpdatePrebuildsMutation = { updatePrebuildsSettings: { changed: boolean } };

export type VersionParametersQueryVariables = Exact<{
  id: string;
}>;


export type VersionParametersQuery = { templateVersion: { id: string, presets: Array<{ id: string, name: string, displayName: string, parameters: Array<{ name: string, value: string }> }>, parameters: Array<{ name: string, displayName: string, description: string, type: TemplateParameterKind, defaultValue: string | null, isMutable: boolean, isEphemeral: boolean, options: Array<{ name: string, value: string }> }> } | null };

export type DryRunTemplateVersionMutationVariables = Exact<{
  input: DryRunTemplateVersionInput;
}>;


export type DryRunTemplateVersionMutation = { dryRunTemplateVersion: { provisionerJob: { id: string } } };

export const Templates = operation<TemplatesQuery, TemplatesQueryVariables>("query Templates($filter: TemplateFilter, $orderBy: TemplateOrder, $first: Int, $after: String, $last: Int, $before: String) { templates( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id name displayName description deprecationMessage createdAt activeVersion { id name } organization { id name displayName } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const Template = operation<TemplateQuery, TemplateQueryVariables>("query Template($id: UUID!, $first: Int, $after: String, $last: Int, $before: String) { template(id: $id) { id name displayName description icon deprecationMessage activityBumpSeconds allowUserAutostart allowUserCancel automaticUpdates autostartDays autostopDays defaultTtlSeconds dormantAfterSeconds deleteAfterSeconds requireActiveVersion createdAt creator { id username name } organization { id name displayName } workspaces(first: 1) { totalCount } activeVersion { id name document presets { id name displayName description isDefault prebuildInstances prebuildStatus lastInvalidatedAt parameters { name value } } } versions(first: $first, after: $after, last: $last, before: $before) { totalCount nodes { id name createdAt isImported archivedAt creator { id username name } job { id status error } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }");
export const TemplateAcl = operation<TemplateAclQuery, TemplateAclQueryVariables>("query TemplateAcl($templateId: UUID!) { templateAcl(templateId: $templateId) { users { role user { id username name } } groups { role group { id name displayName } } } templateAclAvailable(templateId: $templateId, first: 1) { groups { id name displayName } } }");
export const TemplateCandidates = operation<TemplateCandidatesQuery, TemplateCandidatesQueryVariables>("query TemplateCandidates($templateId: UUID!, $search: String!) { templateAclAvailable(templateId: $templateId, search: $search, first: 6) { users { nodes { id username name } } } }");
export const CreateTemplate = operation<CreateTemplateMutation, CreateTemplateMutationVariables>("mutation CreateTemplate($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } } }", {"activityBumpSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"allowUserAutostart":{"type":"Boolean"},"allowUserCancel":{"type":"Boolean"},"automaticUpdates":{"type":"AutomaticUpdates","kind":"choice","options":["ALWAYS","NEVER","OWNERS_CHOICE"]},"autostartDays":{"type":"Weekday","kind":"choice","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"autostopDays":{"type":"Weekday","kind":"choice","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"defaultTtlSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"deleteAfterSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"deprecationMessage":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"document":{"type":"JSONObject","isRequired":true},"dormantAfterSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"everyoneCanUse":{"type":"Boolean"},"icon":{"type":"URL","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them","isRequired":true},"organization":{"type":"String","kind":"reference","isRequired":true},"requireActiveVersion":{"type":"Boolean"},"variables":{"type":"TemplateVariableInput","isList":true,"fields":{"name":{"type":"String","isRequired":true},"value":{"type":"String","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}}});
export const UpdateTemplate = operation<UpdateTemplateMutation, UpdateTemplateMutationVariables>("mutation UpdateTemplate($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { id } } }", {"activityBumpSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"allowUserAutostart":{"type":"Boolean"},"allowUserCancel":{"type":"Boolean"},"automaticUpdates":{"type":"AutomaticUpdates","kind":"choice","options":["ALWAYS","NEVER","OWNERS_CHOICE"]},"autostartDays":{"type":"Weekday","kind":"choice","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"autostopDays":{"type":"Weekday","kind":"choice","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"defaultTtlSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"deleteAfterSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"deprecationMessage":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"dormantAfterSeconds":{"type":"Int","kind":"duration","limits":{"minimum":0,"maximum":315360000},"words":"from 0 to 315360000"},"icon":{"type":"URL","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"},"requireActiveVersion":{"type":"Boolean"},"templateId":{"type":"UUID","isRequired":true}});
export const DeleteTemplate = operation<DeleteTemplateMutation, DeleteTemplateMutationVariables>("mutation DeleteTemplate($input: DeleteTemplateInput!) { deleteTemplate(input: $input) { template { id } } }", {"templateId":{"type":"UUID","isRequired":true}});
export const CreateTemplateVersion = operation<CreateTemplateVersionMutation, CreateTemplateVersionMutationVariables>("mutation CreateTemplateVersion($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }", {"activate":{"type":"Boolean"},"document":{"type":"JSONObject","isRequired":true},"name":{"type":"String","limits":{"pattern":"^[A-Za-z0-9._-]{1,64}$"}},"templateId":{"type":"UUID","isRequired":true},"variables":{"type":"TemplateVariableInput","isList":true,"fields":{"name":{"type":"String","isRequired":true},"value":{"type":"String","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}}});
export const SetActiveTemplateVersion = operation<SetActiveTemplateVersionMutation, SetActiveTemplateVersionMutationVariables>("mutation SetActiveTemplateVersion($input: SetActiveTemplateVersionInput!) { setActiveTemplateVersion(input: $input) { template { id } } }", {"templateVersionId":{"type":"UUID","isRequired":true}});
export const ArchiveTemplateVersion = operation<ArchiveTemplateVersionMutation, ArchiveTemplateVersionMutationVariables>("mutation ArchiveTemplateVersion($input: ArchiveTemplateVersionInput!) { archiveTemplateVersion(input: $input) { templateVersion { id } } }", {"templateVersionId":{"type":"UUID","isRequired":true}});
export const UpdateTemplateAcl = operation<UpdateTemplateAclMutation, UpdateTemplateAclMutationVariables>("mutation UpdateTemplateAcl($input: UpdateTemplateAclInput!) { updateTemplateAcl(input: $input) { templateAcl { users { role } } } }", {"groupPerms":{"type":"TemplateAclChangeInput","isList":true,"fields":{"id":{"type":"String","kind":"reference","isRequired":true},"role":{"type":"String","limits":{"pattern":"^([Uu][Ss][Ee]|[Aa][Dd][Mm][Ii][Nn])?$"}}}},"templateId":{"type":"UUID","isRequired":true},"userPerms":{"type":"TemplateAclChangeInput","isList":true,"fields":{"id":{"type":"String","kind":"reference","isRequired":true},"role":{"type":"String","limits":{"pattern":"^([Uu][Ss][Ee]|[Aa][Dd][Mm][Ii][Nn])?$"}}}}});
export const InvalidatePresets = operation<InvalidatePresetsMutation, InvalidatePresetsMutationVariables>("mutation InvalidatePresets($input: InvalidateTemplatePresetsInput!) { invalidateTemplatePresets(input: $input) { invalidated { presetName } } }", {"templateId":{"type":"UUID","isRequired":true}});
export const Prebuilds = operation<PrebuildsQuery, PrebuildsQueryVariables>("query Prebuilds { prebuildsSettings { reconciliationPaused } }");
export const UpdatePrebuilds = operation<UpdatePrebuildsMutation, UpdatePrebuildsMutationVariables>("mutation UpdatePrebuilds($input: UpdatePrebuildsSettingsInput!) { updatePrebuildsSettings(input: $input) { changed } }", {"reconciliationPaused":{"type":"Boolean","isRequired":true}});
export const VersionParameters = operation<VersionParametersQuery, VersionParametersQueryVariables>("query VersionParameters($id: UUID!) { templateVersion(id: $id) { id presets { id name displayName parameters { name value } } parameters { name displayName description type defaultValue isMutable isEphemeral options { name value } } } }");
export const DryRunTemplateVersion = operation<DryRunTemplateVersionMutation, DryRunTemplateVersionMutationVariables>("mutation DryRunTemplateVersion($input: DryRunTemplateVersionInput!) { dryRunTemplateVersion(input: $input) { provisionerJob { id } } }", {"parameters":{"type":"ParameterInput","isList":true,"fields":{"name":{"type":"String","isRequired":true},"value":{"type":"String","limits":{"maxLength":8192},"words":"at most 8192 bytes","isRequired":true}}},"presetId":{"type":"UUID"},"templateVersionId":{"type":"UUID","isRequired":true}});