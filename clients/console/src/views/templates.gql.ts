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
export const CreateTemplate = operation<CreateTemplateMutation, CreateTemplateMutationVariables>("mutation CreateTemplate($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } } }", {"activityBumpSeconds":{"type":"Int","hint":"Seconds that activity adds to the deadline of a workspace. Default: 3600."},"allowUserAutostart":{"type":"Boolean","hint":"Whether owners may have their workspaces started by a schedule. If not, schedules that exist have no effect. Default: true."},"allowUserCancel":{"type":"Boolean","hint":"Whether users may cancel the builds that they started. Default: true."},"automaticUpdates":{"type":"AutomaticUpdates","hint":"When starts of workspaces take the active version by themselves. Default: `OWNERS_CHOICE`.","options":["ALWAYS","NEVER","OWNERS_CHOICE"]},"autostartDays":{"type":"Weekday","hint":"Days on which schedules start workspaces, in the time zone of each schedule. Default: all.","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"autostopDays":{"type":"Weekday","hint":"Days on which workspaces stop when the quiet hours of their owner start. Default: none.","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"defaultTtlSeconds":{"type":"Int","hint":"Seconds that workspaces run after a start; 0 sets no limit. Default: 0."},"deleteAfterSeconds":{"type":"Int","hint":"Seconds of dormancy after which workspaces are deleted; 0 for never. Default: 0."},"deprecationMessage":{"type":"String","hint":"Deprecates the template: no workspaces can be created from it any more, and the owners of existing ones get this message, at most 1000 characters. Empty ends the deprecation. Default: empty."},"description":{"type":"String","hint":"Description, at most 1000 characters. Default: empty."},"displayName":{"type":"String","hint":"Display name, at most 64 characters. Default: empty."},"document":{"type":"JSONObject","hint":"The document, at most 256 KiB of JSON: schema `steward.template/1`. All faults are reported together, by their paths in the document.","isRequired":true},"dormantAfterSeconds":{"type":"Int","hint":"Seconds without use after which workspaces become dormant; 0 for never. Default: 0."},"everyoneCanUse":{"type":"Boolean","hint":"Whether all members of the organization may use the template. Default: true."},"icon":{"type":"URL","hint":"URL or path of an icon, or empty. Default: empty."},"name":{"type":"String","hint":"Unique in the organization: at most 32 letters, digits, and single hyphens between them.","isRequired":true},"organization":{"type":"String","hint":"Organization of the new template: ID, name, or `default`.","isRequired":true},"requireActiveVersion":{"type":"Boolean","hint":"Whether users without permission to update the template start the active version only. Default: false."},"variables":{"type":"TemplateVariableInput","hint":"Values of the variables of the document. Without a value that is required, the import fails with REQUIRED_TEMPLATE_VARIABLES.","isList":true}});
export const UpdateTemplate = operation<UpdateTemplateMutation, UpdateTemplateMutationVariables>("mutation UpdateTemplate($input: UpdateTemplateInput!) { updateTemplate(input: $input) { template { id } } }", {"activityBumpSeconds":{"type":"Int","hint":"Seconds that activity adds to the deadline of a workspace. Default: 3600."},"allowUserAutostart":{"type":"Boolean","hint":"Whether owners may have their workspaces started by a schedule. If not, schedules that exist have no effect. Default: true."},"allowUserCancel":{"type":"Boolean","hint":"Whether users may cancel the builds that they started. Default: true."},"automaticUpdates":{"type":"AutomaticUpdates","hint":"When starts of workspaces take the active version by themselves. Default: `OWNERS_CHOICE`.","options":["ALWAYS","NEVER","OWNERS_CHOICE"]},"autostartDays":{"type":"Weekday","hint":"Days on which schedules start workspaces, in the time zone of each schedule. Default: all.","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"autostopDays":{"type":"Weekday","hint":"Days on which workspaces stop when the quiet hours of their owner start. Default: none.","isList":true,"options":["FRIDAY","MONDAY","SATURDAY","SUNDAY","THURSDAY","TUESDAY","WEDNESDAY"]},"defaultTtlSeconds":{"type":"Int","hint":"Seconds that workspaces run after a start; 0 sets no limit. Default: 0."},"deleteAfterSeconds":{"type":"Int","hint":"Seconds of dormancy after which workspaces are deleted; 0 for never. Default: 0."},"deprecationMessage":{"type":"String","hint":"Deprecates the template: no workspaces can be created from it any more, and the owners of existing ones get this message, at most 1000 characters. Empty ends the deprecation. Default: empty."},"description":{"type":"String","hint":"Description, at most 1000 characters. Default: empty."},"displayName":{"type":"String","hint":"Display name, at most 64 characters. Default: empty."},"dormantAfterSeconds":{"type":"Int","hint":"Seconds without use after which workspaces become dormant; 0 for never. Default: 0."},"icon":{"type":"URL","hint":"URL or path of an icon, or empty. Default: empty."},"name":{"type":"String","hint":"New name, unique in the organization."},"requireActiveVersion":{"type":"Boolean","hint":"Whether users without permission to update the template start the active version only. Default: false."},"templateId":{"type":"UUID","hint":"ID of the template.","isRequired":true}});
export const DeleteTemplate = operation<DeleteTemplateMutation, DeleteTemplateMutationVariables>("mutation DeleteTemplate($input: DeleteTemplateInput!) { deleteTemplate(input: $input) { template { id } } }", {"templateId":{"type":"UUID","hint":"ID of the template.","isRequired":true}});
export const CreateTemplateVersion = operation<CreateTemplateVersionMutation, CreateTemplateVersionMutationVariables>("mutation CreateTemplateVersion($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }", {"activate":{"type":"Boolean","hint":"Whether it becomes the active version when it is imported. The first version always does. Default: false."},"document":{"type":"JSONObject","hint":"The document, at most 256 KiB of JSON: schema `steward.template/1`. All faults are reported together, by their paths in the document.","isRequired":true},"name":{"type":"String","hint":"Name, unique in the template: 1 to 64 letters, digits, dots, hyphens and underscores. Default: `v` and the number of the version."},"templateId":{"type":"UUID","hint":"ID of the template.","isRequired":true},"variables":{"type":"TemplateVariableInput","hint":"Values of the variables of the document. Without a value that is required, the import fails with REQUIRED_TEMPLATE_VARIABLES. Those that are not given have the values of the version before. The value of a sensitive one must be given again for a version that makes it plain, could show it (in metadata and other texts of resources, parameters, or the source), or goes to other daemons (by its provisioner or tags).","isList":true}});
export const SetActiveTemplateVersion = operation<SetActiveTemplateVersionMutation, SetActiveTemplateVersionMutationVariables>("mutation SetActiveTemplateVersion($input: SetActiveTemplateVersionInput!) { setActiveTemplateVersion(input: $input) { template { id } } }", {"templateVersionId":{"type":"UUID","hint":"ID of the version: imported, and not archived.","isRequired":true}});
export const ArchiveTemplateVersion = operation<ArchiveTemplateVersionMutation, ArchiveTemplateVersionMutationVariables>("mutation ArchiveTemplateVersion($input: ArchiveTemplateVersionInput!) { archiveTemplateVersion(input: $input) { templateVersion { id } } }", {"templateVersionId":{"type":"UUID","hint":"ID of the version.","isRequired":true}});
export const UpdateTemplateAcl = operation<UpdateTemplateAclMutation, UpdateTemplateAclMutationVariables>("mutation UpdateTemplateAcl($input: UpdateTemplateAclInput!) { updateTemplateAcl(input: $input) { templateAcl { users { role } } } }", {"groupPerms":{"type":"TemplateAclChangeInput","hint":"Entries of groups of the organization. A role of a group is the role of all its members, present and future. Those who manage the members of the group decide who they are and can add themselves: owners, user administrators, administrators and user administrators of the organization, and identity providers with a SCIM key.","isList":true},"templateId":{"type":"UUID","hint":"ID of the template.","isRequired":true},"userPerms":{"type":"TemplateAclChangeInput","hint":"Entries of members of the organization.","isList":true}});
export const InvalidatePresets = operation<InvalidatePresetsMutation, InvalidatePresetsMutationVariables>("mutation InvalidatePresets($input: InvalidateTemplatePresetsInput!) { invalidateTemplatePresets(input: $input) { invalidated { presetName } } }", {"templateId":{"type":"UUID","hint":"ID of the template.","isRequired":true}});
export const Prebuilds = operation<PrebuildsQuery, PrebuildsQueryVariables>("query Prebuilds { prebuildsSettings { reconciliationPaused } }");
export const UpdatePrebuilds = operation<UpdatePrebuildsMutation, UpdatePrebuildsMutationVariables>("mutation UpdatePrebuilds($input: UpdatePrebuildsSettingsInput!) { updatePrebuildsSettings(input: $input) { changed } }", {"reconciliationPaused":{"type":"Boolean","hint":"Whether to pause reconciliation, so that no prebuilt workspace is created or deleted.","isRequired":true}});
export const VersionParameters = operation<VersionParametersQuery, VersionParametersQueryVariables>("query VersionParameters($id: UUID!) { templateVersion(id: $id) { id presets { id name displayName parameters { name value } } parameters { name displayName description type defaultValue isMutable isEphemeral options { name value } } } }");
export const DryRunTemplateVersion = operation<DryRunTemplateVersionMutation, DryRunTemplateVersionMutationVariables>("mutation DryRunTemplateVersion($input: DryRunTemplateVersionInput!) { dryRunTemplateVersion(input: $input) { provisionerJob { id } } }", {"parameters":{"type":"ParameterInput","hint":"Parameter values. Default: those of the preset.","isList":true},"presetId":{"type":"UUID","hint":"ID of a preset of the version. Default: none."},"templateVersionId":{"type":"UUID","hint":"ID of the version.","isRequired":true}});