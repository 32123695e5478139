// Generated from secrets.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
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

export type SecretRowFragment = { id: string, name: string, description: string, envName: string, filePath: string, lastDeliveredAt: string | null, createdAt: string, updatedAt: string };

export type SecretsQueryVariables = Exact<{ [key: string]: never; }>;


export type SecretsQuery = { userSecrets: Array<{ id: string, name: string, description: string, envName: string, filePath: string, lastDeliveredAt: string | null, createdAt: string, updatedAt: string }> };

export type SecretQueryVariables = Exact<{
  name: string;
}>;


export type SecretQuery = { userSecret: { id: string } | null };

export type CreateSecretMutationVariables = Exact<{
  input: CreateUserSecretInput;
}>;


export type CreateSecretMutation = { done: { userSecret: { id: string, name: string, description: string, envName: string, filePath: string, lastDeliveredAt: string | null, createdAt: string, updatedAt: string } } };

export type UpdateSecretMutationVariables = Exact<{
  input: UpdateUserSecretInput;
}>;


export type UpdateSecretMutation = { done: { userSecret: { id: string, name: string, description: string, envName: string, filePath: string, lastDeliveredAt: string | null, createdAt: string, updatedAt: string } } };

export type DeleteSecretMutationVariables = Exact<{
  input: DeleteUserSecretInput;
}>;


export type DeleteSecretMutation = { deleteUserSecret: { __typename: 'DeleteUserSecretPayload' } };

export const Secrets = operation<SecretsQuery, SecretsQueryVariables>("fragment SecretRow on UserSecret { id name description envName filePath lastDeliveredAt createdAt updatedAt } query Secrets { userSecrets { ...SecretRow } }");
export const Secret = operation<SecretQuery, SecretQueryVariables>("query Secret($name: String!) { userSecret(name: $name) { id } }");
export const CreateSecret = operation<CreateSecretMutation, CreateSecretMutationVariables>("fragment SecretRow on UserSecret { id name description envName filePath lastDeliveredAt createdAt updatedAt } mutation CreateSecret($input: CreateUserSecretInput!) { done: createUserSecret(input: $input) { userSecret { ...SecretRow } } }");
export const UpdateSecret = operation<UpdateSecretMutation, UpdateSecretMutationVariables>("fragment SecretRow on UserSecret { id name description envName filePath lastDeliveredAt createdAt updatedAt } mutation UpdateSecret($input: UpdateUserSecretInput!) { done: updateUserSecret(input: $input) { userSecret { ...SecretRow } } }");
export const DeleteSecret = operation<DeleteSecretMutation, DeleteSecretMutationVariables>("mutation DeleteSecret($input: DeleteUserSecretInput!) { deleteUserSecret(input: $input) { __typename } }");