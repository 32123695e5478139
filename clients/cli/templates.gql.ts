// Generated from templates.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
export type TemplateFilter = {
  organization?: string | null | undefined;
  search?: string | null | undefined;
};

export type TemplateParameterKind =
  | 'BOOL'
  | 'LIST'
  | 'NUMBER'
  | 'STRING';

export type TemplateRowFragment = { id: string, name: string, displayName: string, description: string, deprecationMessage: string, organization: { id: string, name: string }, activeVersion: { id: string, name: string, hasAiTask: boolean } | null };

export type TemplatesQueryVariables = Exact<{
  filter?: TemplateFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type TemplatesQuery = { templates: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, description: string, deprecationMessage: string, organization: { id: string, name: string }, activeVersion: { id: string, name: string, hasAiTask: boolean } | null }> } };

export type TemplatePartsFragment = { defaultTtlSeconds: number, id: string, name: string, displayName: string, description: string, deprecationMessage: string, activeVersion: { id: string, name: string, hasAiTask: boolean, parameters: Array<{ name: string, displayName: string, description: string, type: TemplateParameterKind, defaultValue: string | null, isMutable: boolean, isEphemeral: boolean, options: Array<{ name: string, value: string }> }>, presets: Array<{ id: string, name: string, description: string, isDefault: boolean, parameters: Array<{ name: string, value: string }> }> } | null, organization: { id: string, name: string } };

export type TemplateQueryVariables = Exact<{
  id: string;
}>;


export type TemplateQuery = { template: { defaultTtlSeconds: number, id: string, name: string, displayName: string, description: string, deprecationMessage: string, activeVersion: { id: string, name: string, hasAiTask: boolean, parameters: Array<{ name: string, displayName: string, description: string, type: TemplateParameterKind, defaultValue: string | null, isMutable: boolean, isEphemeral: boolean, options: Array<{ name: string, value: string }> }>, presets: Array<{ id: string, name: string, description: string, isDefault: boolean, parameters: Array<{ name: string, value: string }> }> } | null, organization: { id: string, name: string } } | null };

export type TemplateByNameQueryVariables = Exact<{
  organization: string;
  name: string;
}>;


export type TemplateByNameQuery = { template: { defaultTtlSeconds: number, id: string, name: string, displayName: string, description: string, deprecationMessage: string, activeVersion: { id: string, name: string, hasAiTask: boolean, parameters: Array<{ name: string, displayName: string, description: string, type: TemplateParameterKind, defaultValue: string | null, isMutable: boolean, isEphemeral: boolean, options: Array<{ name: string, value: string }> }>, presets: Array<{ id: string, name: string, description: string, isDefault: boolean, parameters: Array<{ name: string, value: string }> }> } | null, organization: { id: string, name: string } } | null };

export const Templates = operation<TemplatesQuery, TemplatesQueryVariables>("fragment TemplateRow on Template { id name displayName description deprecationMessage organization { id name } activeVersion { id name hasAiTask } } query Templates($filter: TemplateFilter, $first: Int) { templates(filter: $filter, first: $first) { totalCount nodes { ...TemplateRow } } }");
export const Template = operation<TemplateQuery, TemplateQueryVariables>("fragment TemplateRow on Template { id name displayName description deprecationMessage organization { id name } activeVersion { id name hasAiTask } } fragment TemplateParts on Template { ...TemplateRow defaultTtlSeconds activeVersion { id name hasAiTask parameters { name displayName description type defaultValue isMutable isEphemeral options { name value } } presets { id name description isDefault parameters { name value } } } } query Template($id: UUID!) { template(id: $id) { ...TemplateParts } }");
export const TemplateByName = operation<TemplateByNameQuery, TemplateByNameQueryVariables>("fragment TemplateRow on Template { id name displayName description deprecationMessage organization { id name } activeVersion { id name hasAiTask } } fragment TemplateParts on Template { ...TemplateRow defaultTtlSeconds activeVersion { id name hasAiTask parameters { name displayName description type defaultValue isMutable isEphemeral options { name value } } presets { id name description isDefault parameters { name value } } } } query TemplateByName($organization: String!, $name: String!) { template: templateByName(organization: $organization, name: $name) { ...TemplateParts } }");