// Generated from push.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
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

export type ProvisionerJobStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'SUCCEEDED';

export type TemplateVariableInput = {
  name: string;
  value: string;
};

export type Weekday =
  | 'FRIDAY'
  | 'MONDAY'
  | 'SATURDAY'
  | 'SUNDAY'
  | 'THURSDAY'
  | 'TUESDAY'
  | 'WEDNESDAY';

export type TemplateIdQueryVariables = Exact<{
  organization: string;
  name: string;
}>;


export type TemplateIdQuery = { templateByName: { id: string } | null };

export type CreateTemplateMutationVariables = Exact<{
  input: CreateTemplateInput;
}>;


export type CreateTemplateMutation = { created: { templateVersion: { id: string } } };

export type CreateTemplateVersionMutationVariables = Exact<{
  input: CreateTemplateVersionInput;
}>;


export type CreateTemplateVersionMutation = { created: { templateVersion: { id: string } } };

export type ImportedVersionQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type ImportedVersionQuery = { templateVersion: { id: string, name: string, isImported: boolean, template: { id: string, activeVersion: { id: string } | null }, job: { status: ProvisionerJobStatus, error: string | null, provisioner: string, matchedProvisioners: { count: number, available: number }, logs: { nodes: Array<{ stage: string, output: string }>, pageInfo: { endCursor: string | null } } } | null } | null };

export const TemplateId = operation<TemplateIdQuery, TemplateIdQueryVariables>("query TemplateId($organization: String!, $name: String!) { templateByName(organization: $organization, name: $name) { id } }");
export const CreateTemplate = operation<CreateTemplateMutation, CreateTemplateMutationVariables>("mutation CreateTemplate($input: CreateTemplateInput!) { created: createTemplate(input: $input) { templateVersion { id } } }");
export const CreateTemplateVersion = operation<CreateTemplateVersionMutation, CreateTemplateVersionMutationVariables>("mutation CreateTemplateVersion($input: CreateTemplateVersionInput!) { created: createTemplateVersion(input: $input) { templateVersion { id } } }");
export const ImportedVersion = operation<ImportedVersionQuery, ImportedVersionQueryVariables>("query ImportedVersion($id: UUID!, $after: String) { templateVersion(id: $id) { id name isImported template { id activeVersion { id } } job { status error matchedProvisioners { count available } provisioner logs(first: 1000, after: $after) { nodes { stage output } pageInfo { endCursor } } } } }");