// Generated from sign-in-providers.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ClaimFate =
  | 'KEEP'
  | 'REMOVE';

export type ClaimGrantInput = {
  groups?: Array<string> | null | undefined;
  organization?: string | null | undefined;
  roles?: Array<RoleName> | null | undefined;
  values: Array<string>;
};

export type ClaimMappingInput = {
  absent?: ClaimFate | null | undefined;
  claim: string;
  empty?: ClaimFate | null | undefined;
  grants?: Array<ClaimGrantInput> | null | undefined;
  groupPattern?: string | null | undefined;
  groupsOf?: string | null | undefined;
  malformed?: ClaimFate | null | undefined;
  mostNewGroups?: number | null | undefined;
  separator?: string | null | undefined;
};

export type CreateIdentityProviderInput = {
  admitsNewcomers?: boolean | null | undefined;
  appliesClaims?: boolean | null | undefined;
  claimMappings?: Array<ClaimMappingInput> | null | undefined;
  clientId: string;
  clientKey?: string | null | undefined;
  clientSecret?: string | null | undefined;
  displayName?: string | null | undefined;
  emailDomains?: Array<string> | null | undefined;
  emailVerified?: EmailVerification | null | undefined;
  followsEmail?: boolean | null | undefined;
  hostedDomains?: Array<string> | null | undefined;
  icon?: string | null | undefined;
  isEnabled?: boolean | null | undefined;
  issuer?: string | null | undefined;
  kind: IdentityProviderType;
  linksByEmail?: EmailLinking | null | undefined;
  name: string;
  organizations?: Array<string> | null | undefined;
  scopes?: Array<string> | null | undefined;
  subjectClaim?: string | null | undefined;
  tenants?: Array<string> | null | undefined;
};

export type DeleteIdentityProviderInput = {
  provider: string;
  strandedUserCount?: number | null | undefined;
};

export type EmailLinking =
  | 'ANY'
  | 'DOMAINS'
  | 'NEVER';

export type EmailVerification =
  | 'REQUIRED'
  | 'TRUSTED';

export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

export type OrderIdentityProvidersInput = {
  providers: Array<string>;
};

export type ProviderSource =
  | 'FILE'
  | 'STORED'
  | 'VARIABLES';

export type RoleName =
  | 'AUDITOR'
  | 'MEMBER'
  | 'ORGANIZATION_ADMIN'
  | 'ORGANIZATION_AUDITOR'
  | 'ORGANIZATION_MEMBER'
  | 'ORGANIZATION_TEMPLATE_ADMIN'
  | 'ORGANIZATION_USER_ADMIN'
  | 'OWNER'
  | 'TEMPLATE_ADMIN'
  | 'USER_ADMIN';

export type TestIdentityProviderInput = {
  provider: string;
};

export type UpdateIdentityProviderInput = {
  admitsNewcomers?: boolean | null | undefined;
  appliesClaims?: boolean | null | undefined;
  claimMappings?: Array<ClaimMappingInput> | null | undefined;
  clientId?: string | null | undefined;
  clientKey?: string | null | undefined;
  clientSecret?: string | null | undefined;
  displayName?: string | null | undefined;
  emailDomains?: Array<string> | null | undefined;
  emailVerified?: EmailVerification | null | undefined;
  followsEmail?: boolean | null | undefined;
  hostedDomains?: Array<string> | null | undefined;
  icon?: string | null | undefined;
  isEnabled?: boolean | null | undefined;
  issuer?: string | null | undefined;
  linksByEmail?: EmailLinking | null | undefined;
  name?: string | null | undefined;
  organizations?: Array<string> | null | undefined;
  provider: string;
  scopes?: Array<string> | null | undefined;
  subjectClaim?: string | null | undefined;
  tenants?: Array<string> | null | undefined;
};

export type SignInProvidersQueryVariables = Exact<{ [key: string]: never; }>;


export type SignInProvidersQuery = { identityProviders: Array<{ id: string, name: string, kind: IdentityProviderType, source: ProviderSource, displayName: string, label: string, icon: string, issuer: string, clientId: string, usesKey: boolean, scopes: Array<string>, subjectClaim: string, emailVerified: EmailVerification, emailDomains: Array<string>, followsEmail: boolean, linksByEmail: EmailLinking, admitsNewcomers: boolean, tenants: Array<string>, hostedDomains: Array<string>, appliesClaims: boolean, isEnabled: boolean, isActive: boolean, redirectUrl: string, linkedUserCount: number, strandedUserCount: number, organizations: Array<{ id: string, name: string, displayName: string }>, claimMappings: Array<{ claim: string, separator: string, absent: ClaimFate, empty: ClaimFate, malformed: ClaimFate, groupsOf: string, groupPattern: string, mostNewGroups: number, grants: Array<{ values: Array<string>, groups: Array<string>, organization: string, roles: Array<RoleName> }> }>, report: { succeededAt: string | null, failedAt: string | null, failure: string, warnedAt: string | null, warning: string } }> };

export type CreateIdentityProviderMutationVariables = Exact<{
  input: CreateIdentityProviderInput;
}>;


export type CreateIdentityProviderMutation = { createIdentityProvider: { identityProvider: { name: string, redirectUrl: string } } };

export type UpdateIdentityProviderMutationVariables = Exact<{
  input: UpdateIdentityProviderInput;
}>;


export type UpdateIdentityProviderMutation = { updateIdentityProvider: { identityProvider: { id: string } } };

export type DeleteIdentityProviderMutationVariables = Exact<{
  input: DeleteIdentityProviderInput;
}>;


export type DeleteIdentityProviderMutation = { deleteIdentityProvider: { identityProvider: { id: string } } };

export type OrderIdentityProvidersMutationVariables = Exact<{
  input: OrderIdentityProvidersInput;
}>;


export type OrderIdentityProvidersMutation = { orderIdentityProviders: { identityProviders: Array<{ id: string }> } };

export type TestIdentityProviderMutationVariables = Exact<{
  input: TestIdentityProviderInput;
}>;


export type TestIdentityProviderMutation = { testIdentityProvider: { url: string } };

export const SignInProviders = operation<SignInProvidersQuery, SignInProvidersQueryVariables>("query SignInProviders { identityProviders { id name kind source displayName label icon issuer clientId usesKey scopes subjectClaim emailVerified emailDomains followsEmail linksByEmail admitsNewcomers organizations { id name displayName } tenants hostedDomains claimMappings { claim separator absent empty malformed grants { values groups organization roles } groupsOf groupPattern mostNewGroups } appliesClaims isEnabled isActive redirectUrl linkedUserCount strandedUserCount report { succeededAt failedAt failure warnedAt warning } } }");
export const CreateIdentityProvider = operation<CreateIdentityProviderMutation, CreateIdentityProviderMutationVariables>("mutation CreateIdentityProvider($input: CreateIdentityProviderInput!) { createIdentityProvider(input: $input) { identityProvider { name redirectUrl } } }", {"admitsNewcomers":{"type":"Boolean","hint":"Whether people without an account, with a verified address in `emailDomains`, get one. Default: true."},"appliesClaims":{"type":"Boolean","hint":"Whether sign-ins apply them. Otherwise, only tests of the provider show their effect. Default: false."},"claimMappings":{"type":"ClaimMappingInput","hint":"Claims that give groups, organizations, and roles, at most 10. Default: none.","limits":{"maxItems":10},"isList":true,"fields":{"absent":{"type":"ClaimFate","hint":"What becomes of earlier gifts if the claim is absent. By default, they are kept.","kind":"choice","options":["KEEP","REMOVE"]},"claim":{"type":"String","hint":"Claim in the ID token or at the UserInfo endpoint: its name, or a path such as `realm_access.roles`.","limits":{"pattern":"^[\\x21-\\x7e]{1,128}$","maxLength":128},"isRequired":true},"empty":{"type":"ClaimFate","hint":"What becomes of them if it is empty. By default, they are removed.","kind":"choice","options":["KEEP","REMOVE"]},"grants":{"type":"ClaimGrantInput","hint":"Gifts by values, at most 200.","limits":{"maxItems":200},"isList":true,"fields":{"groups":{"type":"String","hint":"Groups that the person joins, at most 100, in organizations of which it is a member: IDs, or names that only one group has.","kind":"reference","limits":{"maxItems":100},"isList":true},"organization":{"type":"String","hint":"An organization that the person joins: ID, name, or `default`.","kind":"reference"},"roles":{"type":"RoleName","hint":"Roles that the person holds, at most 10: in the organization, or without one in the deployment.","kind":"choice","limits":{"maxItems":10},"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"values":{"type":"String","hint":"Values of the claim, 1 to 100, of which one suffices.","limits":{"minLength":1,"maxLength":256,"minItems":1,"maxItems":100},"words":"1 to 256 characters","isRequired":true,"isList":true}}},"groupPattern":{"type":"String","hint":"Values that count as names of groups, such as `eng-*`, at most 128 characters. By default, all of them.","kind":"multi-line","limits":{"maxLength":128},"words":"at most 128 characters"},"groupsOf":{"type":"String","hint":"Organization whose groups people join that are called like values: ID, name, or `default`.","kind":"reference"},"malformed":{"type":"ClaimFate","hint":"What becomes of them if it is no list of texts, or was left out because of its size. By default, they are kept.","kind":"choice","options":["KEEP","REMOVE"]},"mostNewGroups":{"type":"Int","hint":"How many groups providers may make in that organization, from 0 to 1000. By default, people join existing ones alone.","limits":{"minimum":0,"maximum":1000},"words":"from 0 to 1000"},"separator":{"type":"String","hint":"Separator of the values of a text, 1 to 8 characters. By default, a text is one value.","limits":{"minLength":1,"maxLength":8},"words":"1 to 8 characters"}}},"clientId":{"type":"String","hint":"Client ID of this server there.","limits":{"pattern":"^[\\x20-\\x7e]{1,255}$","minLength":1,"maxLength":255},"isRequired":true},"clientKey":{"type":"String","hint":"In place of a secret: the private key that signs the assertions of this server (`private_key_jwt`), as PEM or as a JWK with its `kid`. Never returned.","kind":"secret","limits":{"maxLength":16384},"words":"at most 16384 characters"},"clientSecret":{"type":"String","hint":"Client secret there, 1 to 1024 characters. Never returned.","kind":"secret","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"displayName":{"type":"String","hint":"Name that sign-in pages show, at most 64 characters. Default: the host of the issuer.","limits":{"maxLength":64},"words":"at most 64 characters"},"emailDomains":{"type":"String","hint":"Domains of email addresses, at most 100, whose people are admitted, and for which the provider speaks. Default: none.","limits":{"pattern":"^(?=.{1,253}$)[\\p{L}\\p{N}-]+(\\.[\\p{L}\\p{N}-]+)*$","maxItems":100},"isList":true},"emailVerified":{"type":"EmailVerification","hint":"How addresses in `emailDomains` count if the provider does not say that they are verified. By default, as verified.","kind":"choice","options":["REQUIRED","TRUSTED"]},"followsEmail":{"type":"Boolean","hint":"Whether accounts get another verified address in `emailDomains` that the provider sends. Never people with a SCIM link or several identities. Default: true."},"hostedDomains":{"type":"String","hint":"The hosted domains whose users may sign in, at most 100: values of the claim `hd`, as Google sends it. Default: all.","limits":{"pattern":"^(?=.{1,253}$)[\\p{L}\\p{N}-]+(\\.[\\p{L}\\p{N}-]+)*$","maxItems":100},"isList":true},"icon":{"type":"String","hint":"Image on sign-in pages: a path on this server, or a data URL with a PNG, JPEG, GIF, WebP, or SVG image in base64. Default: none.","limits":{"maxLength":16384,"pattern":"^($|\\/(?![/\\\\])[\\x21-\\x7e]*$|data:image\\/(png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$)"}},"isEnabled":{"type":"Boolean","hint":"Whether people can sign in. Otherwise, it can be tested. Default: true."},"issuer":{"type":"String","hint":"URL of the issuer, https, or http on this machine. Required for OpenID Connect. At GitHub, the site: by default `https://github.com`.","limits":{"maxLength":2048}},"kind":{"type":"IdentityProviderType","hint":"Kind of the provider. It cannot be changed.","kind":"choice","isRequired":true,"options":["GITHUB","OIDC"]},"linksByEmail":{"type":"EmailLinking","hint":"Which accounts without an identity sign in by their verified address, and which invitations count. By default, those in `emailDomains`.","kind":"choice","options":["ANY","DOMAINS","NEVER"]},"name":{"type":"String","hint":"Unique name, at most 32 lower-case letters, digits, and single hyphens: the last part of the path of the sign-in, `/login/<name>`, and of the redirect URI, `/login/<name>/callback`.","limits":{"pattern":"^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$","maxLength":32},"isRequired":true},"organizations":{"type":"String","hint":"Organizations that newcomers join, at most 100: IDs, names, or `default`. Default: the default organization.","kind":"reference","limits":{"maxItems":100},"isList":true},"scopes":{"type":"String","hint":"Scopes to request, at most 20. Default: `openid email profile`, or `read:user user:email` at GitHub.","limits":{"pattern":"^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$","maxItems":20},"isList":true},"subjectClaim":{"type":"String","hint":"Claim of ID tokens that identifies users permanently. Entra ID's `oid` stays the same in a new app registration. Default: `sub`.","limits":{"pattern":"^[\\x21-\\x7e]{1,128}$"}},"tenants":{"type":"String","hint":"The tenants whose users may sign in, at most 100: values of the claim `tid`, as Entra ID sends it. Default: all.","limits":{"pattern":"^[\\w.-]{1,128}$","maxItems":100},"isList":true}});
export const UpdateIdentityProvider = operation<UpdateIdentityProviderMutation, UpdateIdentityProviderMutationVariables>("mutation UpdateIdentityProvider($input: UpdateIdentityProviderInput!) { updateIdentityProvider(input: $input) { identityProvider { id } } }", {"admitsNewcomers":{"type":"Boolean","hint":"Whether people without an account, with a verified address in `emailDomains`, get one. Default: true."},"appliesClaims":{"type":"Boolean","hint":"Whether sign-ins apply them. Otherwise, only tests of the provider show their effect. Default: false."},"claimMappings":{"type":"ClaimMappingInput","hint":"Claims that give groups, organizations, and roles, at most 10. Default: none.","limits":{"maxItems":10},"isList":true,"fields":{"absent":{"type":"ClaimFate","hint":"What becomes of earlier gifts if the claim is absent. By default, they are kept.","kind":"choice","options":["KEEP","REMOVE"]},"claim":{"type":"String","hint":"Claim in the ID token or at the UserInfo endpoint: its name, or a path such as `realm_access.roles`.","limits":{"pattern":"^[\\x21-\\x7e]{1,128}$","maxLength":128},"isRequired":true},"empty":{"type":"ClaimFate","hint":"What becomes of them if it is empty. By default, they are removed.","kind":"choice","options":["KEEP","REMOVE"]},"grants":{"type":"ClaimGrantInput","hint":"Gifts by values, at most 200.","limits":{"maxItems":200},"isList":true,"fields":{"groups":{"type":"String","hint":"Groups that the person joins, at most 100, in organizations of which it is a member: IDs, or names that only one group has.","kind":"reference","limits":{"maxItems":100},"isList":true},"organization":{"type":"String","hint":"An organization that the person joins: ID, name, or `default`.","kind":"reference"},"roles":{"type":"RoleName","hint":"Roles that the person holds, at most 10: in the organization, or without one in the deployment.","kind":"choice","limits":{"maxItems":10},"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"values":{"type":"String","hint":"Values of the claim, 1 to 100, of which one suffices.","limits":{"minLength":1,"maxLength":256,"minItems":1,"maxItems":100},"words":"1 to 256 characters","isRequired":true,"isList":true}}},"groupPattern":{"type":"String","hint":"Values that count as names of groups, such as `eng-*`, at most 128 characters. By default, all of them.","kind":"multi-line","limits":{"maxLength":128},"words":"at most 128 characters"},"groupsOf":{"type":"String","hint":"Organization whose groups people join that are called like values: ID, name, or `default`.","kind":"reference"},"malformed":{"type":"ClaimFate","hint":"What becomes of them if it is no list of texts, or was left out because of its size. By default, they are kept.","kind":"choice","options":["KEEP","REMOVE"]},"mostNewGroups":{"type":"Int","hint":"How many groups providers may make in that organization, from 0 to 1000. By default, people join existing ones alone.","limits":{"minimum":0,"maximum":1000},"words":"from 0 to 1000"},"separator":{"type":"String","hint":"Separator of the values of a text, 1 to 8 characters. By default, a text is one value.","limits":{"minLength":1,"maxLength":8},"words":"1 to 8 characters"}}},"clientId":{"type":"String","hint":"Client ID of this server there.","limits":{"pattern":"^[\\x20-\\x7e]{1,255}$","minLength":1,"maxLength":255}},"clientKey":{"type":"String","hint":"In place of a secret: the private key that signs the assertions of this server (`private_key_jwt`), as PEM or as a JWK with its `kid`. Never returned.","kind":"secret","limits":{"maxLength":16384},"words":"at most 16384 characters"},"clientSecret":{"type":"String","hint":"Client secret there, 1 to 1024 characters. Never returned.","kind":"secret","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"displayName":{"type":"String","hint":"Name that sign-in pages show, at most 64 characters. Default: the host of the issuer.","limits":{"maxLength":64},"words":"at most 64 characters"},"emailDomains":{"type":"String","hint":"Domains of email addresses, at most 100, whose people are admitted, and for which the provider speaks. Default: none.","limits":{"pattern":"^(?=.{1,253}$)[\\p{L}\\p{N}-]+(\\.[\\p{L}\\p{N}-]+)*$","maxItems":100},"isList":true},"emailVerified":{"type":"EmailVerification","hint":"How addresses in `emailDomains` count if the provider does not say that they are verified. By default, as verified.","kind":"choice","options":["REQUIRED","TRUSTED"]},"followsEmail":{"type":"Boolean","hint":"Whether accounts get another verified address in `emailDomains` that the provider sends. Never people with a SCIM link or several identities. Default: true."},"hostedDomains":{"type":"String","hint":"The hosted domains whose users may sign in, at most 100: values of the claim `hd`, as Google sends it. Default: all.","limits":{"pattern":"^(?=.{1,253}$)[\\p{L}\\p{N}-]+(\\.[\\p{L}\\p{N}-]+)*$","maxItems":100},"isList":true},"icon":{"type":"String","hint":"Image on sign-in pages: a path on this server, or a data URL with a PNG, JPEG, GIF, WebP, or SVG image in base64. Default: none.","limits":{"maxLength":16384,"pattern":"^($|\\/(?![/\\\\])[\\x21-\\x7e]*$|data:image\\/(png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+={0,2}$)"}},"isEnabled":{"type":"Boolean","hint":"Whether people can sign in. Otherwise, it can be tested."},"issuer":{"type":"String","hint":"New URL of the issuer or the site, as long as no account is linked.","limits":{"maxLength":2048}},"linksByEmail":{"type":"EmailLinking","hint":"Which accounts without an identity sign in by their verified address, and which invitations count. By default, those in `emailDomains`.","kind":"choice","options":["ANY","DOMAINS","NEVER"]},"name":{"type":"String","hint":"New name. The provider must have the new redirect URI; linked people keep their identities.","limits":{"pattern":"^(?=.{1,32}$)[a-z0-9]+(-[a-z0-9]+)*$","maxLength":32}},"organizations":{"type":"String","hint":"Organizations that newcomers join, at most 100: IDs, names, or `default`. Default: the default organization.","kind":"reference","limits":{"maxItems":100},"isList":true},"provider":{"type":"String","hint":"The provider: ID or name.","kind":"reference","isRequired":true},"scopes":{"type":"String","hint":"Scopes to request, at most 20. Default: `openid email profile`, or `read:user user:email` at GitHub.","limits":{"pattern":"^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,128}$","maxItems":20},"isList":true},"subjectClaim":{"type":"String","hint":"Claim of ID tokens that identifies users permanently. Entra ID's `oid` stays the same in a new app registration. Default: `sub`.","limits":{"pattern":"^[\\x21-\\x7e]{1,128}$"}},"tenants":{"type":"String","hint":"The tenants whose users may sign in, at most 100: values of the claim `tid`, as Entra ID sends it. Default: all.","limits":{"pattern":"^[\\w.-]{1,128}$","maxItems":100},"isList":true}});
export const DeleteIdentityProvider = operation<DeleteIdentityProviderMutation, DeleteIdentityProviderMutationVariables>("mutation DeleteIdentityProvider($input: DeleteIdentityProviderInput!) { deleteIdentityProvider(input: $input) { identityProvider { id } } }", {"provider":{"type":"String","hint":"The provider: ID or name.","kind":"reference","isRequired":true},"strandedUserCount":{"type":"Int","hint":"How many people may lose their only way to sign in: the `strandedUserCount` of the provider. If it is more, nothing is deleted. Default: 0.","limits":{"minimum":0,"maximum":2147483647},"words":"at least 0"}});
export const OrderIdentityProviders = operation<OrderIdentityProvidersMutation, OrderIdentityProvidersMutationVariables>("mutation OrderIdentityProviders($input: OrderIdentityProvidersInput!) { orderIdentityProviders(input: $input) { identityProviders { id } } }", {"providers":{"type":"String","hint":"All providers that owners made, by ID or name, in the order in which sign-in pages are to show them.","kind":"reference","limits":{"maxItems":50},"isRequired":true,"isList":true}});
export const TestIdentityProvider = operation<TestIdentityProviderMutation, TestIdentityProviderMutationVariables>("mutation TestIdentityProvider($input: TestIdentityProviderInput!) { testIdentityProvider(input: $input) { url } }", {"provider":{"type":"String","hint":"The provider: ID or name.","kind":"reference","isRequired":true}});