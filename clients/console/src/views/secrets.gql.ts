// Generated from secrets.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CreateUserSecretInput = {
  description?: string | null | undefined;
  envName?: string | null | undefined;
  filePath?: string | null | undefined;
  name: string;
  user?: string;
  value: string;
};

export type DeleteUserSecretInput = {
  name: string;
  user?: string;
};

export type UpdateUserSecretInput = {
  description?: string | null | undefined;
  envName?: string | null | undefined;
  filePath?: string | null | undefined;
  name: string;
  user?: string;
  value?: string | null | undefined;
};

export type SecretsQueryVariables = Exact<{ [key: string]: never; }>;


export type SecretsQuery = { userSecrets: Array<{ id: string, name: string, description: string, envName: string, filePath: string, lastDeliveredAt: string | null, updatedAt: string }>, userSecretUsage: { count: number, maxCount: number, valueBytes: number, maxValueBytes: number } | null };

export type CreateUserSecretMutationVariables = Exact<{
  input: CreateUserSecretInput;
}>;


export type CreateUserSecretMutation = { createUserSecret: { userSecret: { id: string } } };

export type UpdateUserSecretMutationVariables = Exact<{
  input: UpdateUserSecretInput;
}>;


export type UpdateUserSecretMutation = { updateUserSecret: { userSecret: { id: string } } };

export type DeleteUserSecretMutationVariables = Exact<{
  input: DeleteUserSecretInput;
}>;


export type DeleteUserSecretMutation = { deleteUserSecret: { userSecret: { id: string } } };

export const Secrets = operation<SecretsQuery, SecretsQueryVariables>("query Secrets { userSecrets { id name description envName filePath lastDeliveredAt updatedAt } userSecretUsage { count maxCount valueBytes maxValueBytes } }");
export const CreateUserSecret = operation<CreateUserSecretMutation, CreateUserSecretMutationVariables>("mutation CreateUserSecret($input: CreateUserSecretInput!) { createUserSecret(input: $input) { userSecret { id } } }", {"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1024},"words":"at most 1024 characters"},"envName":{"type":"String","limits":{"maxLength":256,"pattern":"^$|^[A-Za-z_][A-Za-z0-9_]*$"}},"filePath":{"type":"String","limits":{"maxLength":4096,"pattern":"^$|^~?/"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":255,"pattern":"^[^/?#]+$"},"words":"1 to 255 bytes","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true},"value":{"type":"String","kind":"secret","limits":{"minLength":1,"maxLength":24576},"words":"1 to 24576 bytes","isRequired":true}});
export const UpdateUserSecret = operation<UpdateUserSecretMutation, UpdateUserSecretMutationVariables>("mutation UpdateUserSecret($input: UpdateUserSecretInput!) { updateUserSecret(input: $input) { userSecret { id } } }", {"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1024},"words":"at most 1024 characters"},"envName":{"type":"String","limits":{"maxLength":256,"pattern":"^$|^[A-Za-z_][A-Za-z0-9_]*$"}},"filePath":{"type":"String","limits":{"maxLength":4096,"pattern":"^$|^~?/"}},"name":{"type":"String","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true},"value":{"type":"String","kind":"secret","limits":{"minLength":1,"maxLength":24576},"words":"1 to 24576 bytes"}});
export const DeleteUserSecret = operation<DeleteUserSecretMutation, DeleteUserSecretMutationVariables>("mutation DeleteUserSecret($input: DeleteUserSecretInput!) { deleteUserSecret(input: $input) { userSecret { id } } }", {"name":{"type":"String","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true}});