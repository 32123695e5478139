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
export const CreateUserSecret = operation<CreateUserSecretMutation, CreateUserSecretMutationVariables>("mutation CreateUserSecret($input: CreateUserSecretInput!) { createUserSecret(input: $input) { userSecret { id } } }", {"description":{"type":"String","hint":"Free text, at most 1024 characters. Default: empty."},"envName":{"type":"String","hint":"Environment variable to set to the value: letters, digits, and underscores, except reserved names; empty for none. Default: empty."},"filePath":{"type":"String","hint":"File to write the value to: a path that begins with `~/` or `/`, and is not the file of another secret or a directory of its path; empty for none. Default: empty."},"name":{"type":"String","hint":"Name, unique among the user's secrets: 1 to 255 bytes without `/`, `?`, and `#`.","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","isRequired":true},"value":{"type":"String","hint":"The value, 1 to 24576 bytes, stored unchanged.","isRequired":true}});
export const UpdateUserSecret = operation<UpdateUserSecretMutation, UpdateUserSecretMutationVariables>("mutation UpdateUserSecret($input: UpdateUserSecretInput!) { updateUserSecret(input: $input) { userSecret { id } } }", {"description":{"type":"String","hint":"Free text, at most 1024 characters."},"envName":{"type":"String","hint":"Environment variable to set to the value: letters, digits, and underscores, except reserved names; empty for none."},"filePath":{"type":"String","hint":"File to write the value to: a path that begins with `~/` or `/`, and is not the file of another secret or a directory of its path; empty for none."},"name":{"type":"String","hint":"Exact name of the secret.","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","isRequired":true},"value":{"type":"String","hint":"The new value, 1 to 24576 bytes, stored unchanged."}});
export const DeleteUserSecret = operation<DeleteUserSecretMutation, DeleteUserSecretMutationVariables>("mutation DeleteUserSecret($input: DeleteUserSecretInput!) { deleteUserSecret(input: $input) { userSecret { id } } }", {"name":{"type":"String","hint":"Exact name of the secret.","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","isRequired":true}});