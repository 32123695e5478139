import { Field, Int, ObjectType } from "type-graphql";
import type { Account, Installation } from "../../domain/external-auth/provider-accounts.js";
import type { CheckedLink } from "../../domain/external-auth/checks.js";
import type { AccessToken, LinkChange } from "../../domain/external-auth/access-tokens.js";
import { CompleteDevice, StartExternalAuthDevice } from "../../domain/external-auth/device-flow.js";
import type { ExternalAuth, ExternalAuthOverview } from "../../domain/external-auth/external-auth.js";
import { type ExternalAuthProvider, ExternalAuthProviderType } from "../../domain/external-auth/providers.js";
import type { DeviceAuthorization } from "../../domain/external-auth/provider-responses.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { BigInt, DateTime, JSONObject, Url } from "../engine/scalars.js";
import { DeleteExternalAuth } from "../../domain/external-auth/unlinking.js";
import { inputType } from "../engine/inputs.js";

enumType({ ExternalAuthProviderType }, "Type of an external authentication provider.", {
  GITHUB: "GitHub, or a GitHub Enterprise Server.",
  GITLAB: "GitLab.",
  BITBUCKET_CLOUD: "Bitbucket Cloud.",
  BITBUCKET_SERVER: "Bitbucket Server or Data Center.",
  AZURE_DEVOPS: "Azure DevOps.",
  AZURE_DEVOPS_ENTRA: "Azure DevOps with Microsoft Entra ID.",
  GITEA: "Gitea or Forgejo.",
  JFROG: "JFrog.",
  SLACK: "Slack.",
  CUSTOM: "Any other OAuth 2.0 provider.",
});

const read = "external_auth_link:read";

@Access({ readWith: read, references: ["id"] })
@ObjectType("ExternalAuthProvider", {
  simpleResolvers: true,
  description: "A service, such as a Git host, at which users link accounts. Configured by the operator.",
})
export class ExternalAuthProviderObject implements Pick<
  ExternalAuthProvider,
  "id" | "type" | "displayName" | "displayIcon"
> {
  @Field({ description: "Unique ID, compared without regard to letter case." }) id!: string;
  @Field(() => ExternalAuthProviderType, { description: "Type of the service." }) type!: ExternalAuthProviderType;
  @Field({ description: "Name to show." }) displayName!: string;
  @Field({ description: "Icon to show: a URL or a path; may be empty." }) displayIcon!: string;
}

@Access({ readWith: read })
@ObjectType("ExternalAuthAccount", { simpleResolvers: true, description: "An account at a provider." })
export class ExternalAuthAccount implements Account {
  @Field(() => BigInt, { nullable: true, description: "ID at the provider; null unless it is a whole number." }) id!:
    | number
    | null;
  @Field({ description: "Username at the provider." }) login!: string;
  @Field({ description: "Display name; may be empty." }) name!: string;
  @Field(() => Url, { nullable: true, description: "URL of the avatar; null if there is none." }) avatarUrl!:
    | string
    | null;
  @Field(() => Url, { nullable: true, description: "URL of the profile page; null if there is none." }) profileUrl!:
    | string
    | null;
}

@Access({ readWith: read })
@ObjectType("ExternalAuthInstallation", {
  simpleResolvers: true,
  description: "An installation of the provider's application, for an account or an organization at the provider.",
})
export class ExternalAuthInstallation implements Installation {
  @Field(() => BigInt, { nullable: true, description: "ID at the provider; null unless it is a whole number." }) id!:
    | number
    | null;
  @Field(() => ExternalAuthAccount, { nullable: true, description: "Where it is installed; null if unknown." })
  account!: Account | null;
  @Field(() => Url, { nullable: true, description: "Page at which it is configured; null if there is none." })
  configureUrl!: string | null;
}

@Access({ readWith: read, references: ["providerId"] })
@ObjectType("ExternalAuthLink", {
  simpleResolvers: true,
  description: "The caller's account at a provider. Its tokens are never part of it.",
})
export class ExternalAuthLinkObject implements Partial<CheckedLink> {
  @Field({ description: "ID of the provider, which may have been removed since." }) providerId!: string;
  @Field({
    description:
      "Whether the access token is valid. Selecting this refreshes an expired token and validates it with the provider, with a cache of a minute.",
  })
  authenticated!: boolean;
  @Field({ description: "Whether the access token can be refreshed." }) hasRefreshToken!: boolean;
  @Field(() => String, {
    nullable: true,
    description:
      "Why the state may be out of date, or what is wrong with the token; null if nothing is. Selecting this validates the token.",
  })
  validateError!: string | null;
  @Field(() => DateTime, { description: "When the account was first linked." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the tokens were last replaced." }) updatedAt!: string;
}

@Access({ readWith: read })
@ObjectType("ExternalAuth", {
  simpleResolvers: true,
  description: "The accounts and the connection of the caller at a provider.",
})
export class ExternalAuthObject implements Omit<ExternalAuth, "provider" | "link"> {
  @Field(() => ExternalAuthProviderObject, { description: "The provider." }) provider!: ExternalAuthProvider;
  @Field(() => ExternalAuthLinkObject, { nullable: true, description: "The linked account; null if there is none." })
  link!: CheckedLink | null;
  @Field({ description: "Whether an account is linked and its access token is valid." })
  authenticated!: boolean;
  @Field(() => ExternalAuthAccount, {
    nullable: true,
    description: "The account at the provider; null if none is linked or the provider does not describe it.",
  })
  user!: Account | null;
}

@Access({ readWith: read })
@ObjectType("ExternalAuthOverview", { simpleResolvers: true, description: "All linked accounts of the caller." })
export class ExternalAuthOverviewObject implements ExternalAuthOverview {
  @Field(() => ExternalAuthLinkObject, {
    nullable: true,
    description: "The most recently updated link; null if there is none.",
  })
  latest!: CheckedLink | null;
  @Field({ description: "Whether the most recently updated link is valid; false if there is none." })
  authenticated!: boolean;
  @Field({
    description: "Whether the most recently updated link can be refreshed; false if there is none.",
  })
  hasRefreshToken!: boolean;
  @Access({ countsAs: 5 })
  @Field(() => [ExternalAuthLinkObject], { description: "All links, checked, in the order of the configuration." })
  links!: CheckedLink[];
}

@Access({ readWith: "external_auth_link:update" })
@ObjectType("ExternalAuthDevice", {
  simpleResolvers: true,
  description: "A device code (RFC 8628), with which the caller links an account without a redirect.",
})
export class ExternalAuthDevice implements DeviceAuthorization {
  @Field({ description: "The code for `completeExternalAuthDevice`. Returned only once." })
  deviceCode!: string;
  @Field({ description: "The code that the user enters at the provider." }) userCode!: string;
  @Field(() => Url, { nullable: true, description: "The page at which the user enters it; null if unknown." })
  verificationUri!: string | null;
  @Field(() => Int, { description: "Lifetime of the codes in seconds." }) expiresIn!: number;
  @Field(() => Int, { description: "Minimum number of seconds between polls." }) interval!: number;
}

@Access({ readWith: read })
@ObjectType("ExternalAuthAccessToken", {
  simpleResolvers: true,
  description: "An access token for Git or other clients; without a valid one, where the user can link an account.",
})
export class ExternalAuthAccessToken implements AccessToken {
  @Field({ description: "ID of the provider." }) providerId!: string;
  @Field(() => ExternalAuthProviderType, { description: "Type of the provider." }) type!: ExternalAuthProviderType;
  @Field(() => String, { nullable: true, description: "The token; null if no account is linked or it is not valid." })
  accessToken!: string | null;
  @Field(() => String, { nullable: true, description: "Username that Git sends with the token; null without one." })
  username!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When the token expires; null if it does not." })
  expiresAt!: string | null;
  @Field(() => JSONObject, {
    nullable: true,
    description: "Further fields of the provider's response that the operator passes on; null if there are none.",
  })
  extra!: Record<string, unknown> | null;
  @Field(() => Url, { nullable: true, description: "Page at which to link an account; null if there is a token." })
  connectUrl!: string | null;
}

@Access({ readWith: read })
@ObjectType("ExternalAuthLinkChange", { simpleResolvers: true, description: "The state of a link after a change." })
export class ExternalAuthLinkChange implements LinkChange {
  @Field({ description: "ID of the provider." }) providerId!: string;
  @Field({ description: "Whether an account is linked." }) isLinked!: boolean;
}

export const DeleteExternalAuthInput = inputType("DeleteExternalAuthInput", DeleteExternalAuth);

export const StartExternalAuthDeviceInput = inputType("StartExternalAuthDeviceInput", StartExternalAuthDevice);

export const CompleteExternalAuthDeviceInput = inputType("CompleteExternalAuthDeviceInput", CompleteDevice);
