// Generated from linked-accounts.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type DeleteExternalAuthInput = {
  providerId: string;
};

export type ExternalAuthProviderType =
  | 'AZURE_DEVOPS'
  | 'AZURE_DEVOPS_ENTRA'
  | 'BITBUCKET_CLOUD'
  | 'BITBUCKET_SERVER'
  | 'CUSTOM'
  | 'GITEA'
  | 'GITHUB'
  | 'GITLAB'
  | 'JFROG'
  | 'SLACK';

export type LinkedAccountsQueryVariables = Exact<{ [key: string]: never; }>;


export type LinkedAccountsQuery = { externalAuthOverview: { providers: Array<{ id: string, displayName: string, type: ExternalAuthProviderType, connectUrl: string, link: { authenticated: boolean, updatedAt: string, expires: string | null, validateError: string | null } | null }> } };

export type UnlinkAccountMutationVariables = Exact<{
  input: DeleteExternalAuthInput;
}>;


export type UnlinkAccountMutation = { deleteExternalAuth: { providerId: string, tokenRevoked: boolean } };

export type LinkChangedSubscriptionVariables = Exact<{
  providerId: string;
}>;


export type LinkChangedSubscription = { externalAuthLinkChanged: { isLinked: boolean } };

export const LinkedAccounts = operation<LinkedAccountsQuery, LinkedAccountsQueryVariables>("query LinkedAccounts { externalAuthOverview { providers { id displayName type connectUrl link { authenticated updatedAt expires validateError } } } }");
export const UnlinkAccount = operation<UnlinkAccountMutation, UnlinkAccountMutationVariables>("mutation UnlinkAccount($input: DeleteExternalAuthInput!) { deleteExternalAuth(input: $input) { providerId tokenRevoked } }", {"providerId":{"type":"String","kind":"reference","isRequired":true}});
export const LinkChanged = operation<LinkChangedSubscription, LinkChangedSubscriptionVariables>("subscription LinkChanged($providerId: String!) { externalAuthLinkChanged(providerId: $providerId) { isLinked } }");