// Generated from extend.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ExtendWorkspaceDeadlineInput = {
  deadline: string;
  workspace: string;
};

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

export type StopTimeQueryVariables = Exact<{
  id: string;
}>;


export type StopTimeQuery = { workspace: { id: string, name: string, status: WorkspaceStatus, deadline: string | null, latestBuild: { id: string, maxDeadline: string | null } | null } | null };

export type ExtendDeadlineMutationVariables = Exact<{
  input: ExtendWorkspaceDeadlineInput;
}>;


export type ExtendDeadlineMutation = { extendWorkspaceDeadline: { workspace: { id: string } } };

export const StopTime = operation<StopTimeQuery, StopTimeQueryVariables>("query StopTime($id: UUID!) { workspace(id: $id) { id name status deadline latestBuild { id maxDeadline } } }");
export const ExtendDeadline = operation<ExtendDeadlineMutation, ExtendDeadlineMutationVariables>("mutation ExtendDeadline($input: ExtendWorkspaceDeadlineInput!) { extendWorkspaceDeadline(input: $input) { workspace { id } } }", {"deadline":{"type":"DateTime","isRequired":true},"workspace":{"type":"String","kind":"reference","isRequired":true}});