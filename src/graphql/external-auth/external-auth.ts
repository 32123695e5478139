import type { GraphQLResolveInfo } from "graphql";
import { Arg, Ctx, FieldResolver, Info, Query, Resolver, Root, Subscription } from "type-graphql";
import type { Installation } from "../../domain/external-auth/provider-accounts.js";
import type { CheckedLink } from "../../domain/external-auth/checks.js";
import {
  type AccessToken,
  type LinkChange,
  readAccessToken,
  watchLink,
} from "../../domain/external-auth/access-tokens.js";
import {
  type ExternalAuth,
  type ExternalAuthOverview,
  installationsOf,
  linkAt,
  listLinks,
  providerOf,
  readExternalAuth,
  readOverview,
} from "../../domain/external-auth/external-auth.js";
import {
  allowsValidation,
  connectUrlOf,
  type ExternalAuthProvider,
  listProviders,
  redirects,
} from "../../domain/external-auth/providers.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access, selectsOnly, watchedBy } from "../engine/access.js";
import { DateTime, Url } from "../engine/scalars.js";
import {
  ExternalAuthAccessToken,
  ExternalAuthInstallation,
  ExternalAuthLinkChange,
  ExternalAuthLinkObject,
  ExternalAuthObject,
  ExternalAuthOverviewObject,
  ExternalAuthProviderObject,
} from "./external-auth-types.js";

/** The fields of a link that are as stored. The provider is called for the others. */
const stored = new Set([
  "__typename",
  "providerId",
  "provider",
  "hasRefreshToken",
  "expires",
  "createdAt",
  "updatedAt",
]);

@Resolver(() => ExternalAuthProviderObject)
export class ExternalAuthProvidersResolver {
  @FieldResolver(() => Boolean, {
    description: "Whether accounts can be linked in a browser; otherwise with a device code only.",
  })
  browser(@Root() provider: ExternalAuthProvider): boolean {
    return redirects(provider);
  }

  @FieldResolver(() => Boolean, { description: "Whether accounts can be linked with a device code." })
  device(@Root() { deviceFlow }: ExternalAuthProvider): boolean {
    return deviceFlow;
  }

  @FieldResolver(() => Boolean, { description: "Whether expired access tokens are refreshed." })
  allowRefresh(@Root() { noRefresh }: ExternalAuthProvider): boolean {
    return !noRefresh;
  }

  @FieldResolver(() => Boolean, { description: "Whether access tokens can be validated with the provider." })
  allowValidate(@Root() provider: ExternalAuthProvider): boolean {
    return allowsValidation(provider);
  }

  @FieldResolver(() => Boolean, { description: "Whether the provider revokes tokens of accounts that are unlinked." })
  supportsRevocation(@Root() { revokeUrl }: ExternalAuthProvider): boolean {
    return revokeUrl !== "";
  }

  @Access({ countsAs: 1 })
  @FieldResolver(() => [String], { description: "Methods of code challenges (PKCE) that are used: `S256` or none." })
  codeChallengeMethodsSupported(@Root() { usesPkce }: ExternalAuthProvider): string[] {
    return usesPkce ? ["S256"] : [];
  }

  @FieldResolver(() => Url, { description: "Page at which users link an account." })
  connectUrl(@Root() provider: ExternalAuthProvider, @Ctx() ctx: Context): string {
    return connectUrlOf(ctx, provider);
  }

  @FieldResolver(() => ExternalAuthLinkObject, {
    nullable: true,
    description: "The caller's linked account; null if there is none.",
  })
  link(
    @Root() provider: ExternalAuthProvider,
    @Ctx() ctx: Context,
    @Info() info: GraphQLResolveInfo,
  ): Promise<CheckedLink | null> {
    return linkAt(ctx, provider, !selectsOnly(info, stored));
  }

  @Access({ needs: ["external_auth_link:read"], countsAs: 10 })
  @Query(() => [ExternalAuthProviderObject], { description: "Lists the providers in the order of the configuration." })
  externalAuthProviders(@Ctx() ctx: Context): readonly ExternalAuthProvider[] {
    return listProviders(ctx);
  }
}

@Resolver(() => ExternalAuthLinkObject)
export class ExternalAuthLinksResolver {
  @FieldResolver(() => DateTime, {
    nullable: true,
    description: "When the access token expires; null if it does not.",
  })
  expires(@Root() { expiresAt }: CheckedLink): string | null {
    return expiresAt;
  }

  @FieldResolver(() => ExternalAuthProviderObject, {
    nullable: true,
    description: "The provider; null if it was removed from the configuration.",
  })
  provider(@Root() { providerId }: CheckedLink, @Ctx() ctx: Context): ExternalAuthProvider | undefined {
    return providerOf(ctx, providerId);
  }

  @Access({ needs: ["external_auth_link:read"], countsAs: 5 })
  @Query(() => [ExternalAuthLinkObject], {
    description: "Lists the caller's linked accounts in the order of the providers, at most one per provider.",
  })
  externalAuthLinks(@Ctx() ctx: Context, @Info() info: GraphQLResolveInfo): Promise<CheckedLink[]> {
    return listLinks(ctx, !selectsOnly(info, stored));
  }

  @Access({ needs: ["external_auth_link:read"], openTo: ["user", "agent"] })
  @Subscription(() => ExternalAuthLinkChange, {
    description:
      "Streams whether the caller, or for an agent the owner of its workspace, has linked an account at a provider: first the current state, then the state after every change.",
    subscribe: watchedBy(watchLink),
  })
  externalAuthLinkChanged(
    @Root() change: LinkChange,
    @Arg("providerId", { description: "ID of the provider, in any letter case." }) _providerId: string,
  ): LinkChange {
    return change;
  }
}

@Resolver(() => ExternalAuthOverviewObject)
export class ExternalAuthOverviewResolver {
  @Access({ countsAs: 10 })
  @FieldResolver(() => [ExternalAuthProviderObject], {
    description: "The providers in the order of the configuration.",
  })
  providers(@Ctx() ctx: Context): readonly ExternalAuthProvider[] {
    return listProviders(ctx);
  }

  @Access({ needs: ["external_auth_link:read"] })
  @Query(() => ExternalAuthOverviewObject, {
    description: "Returns the caller's linked accounts, checked with their providers for up to 10 seconds.",
  })
  externalAuthOverview(@Ctx() ctx: Context): Promise<ExternalAuthOverview> {
    return readOverview(ctx);
  }
}

@Resolver(() => ExternalAuthObject)
export class ExternalAuthResolver {
  @FieldResolver(() => Boolean, { description: "Whether installations of the provider's application can be listed." })
  appInstallable(@Root() { provider }: ExternalAuth): boolean {
    return provider.appInstallationsUrl !== "";
  }

  @FieldResolver(() => String, {
    description: "Page at which the provider's application is installed; empty if there is none.",
  })
  appInstallUrl(@Root() { provider }: ExternalAuth): string {
    return provider.appInstallUrl;
  }

  @Access({ countsAs: 10 })
  @FieldResolver(() => [ExternalAuthInstallation], {
    description:
      "Where the provider's application is installed, at most 100. Empty if the application cannot be installed, or if the provider fails.",
  })
  installations(@Root() state: ExternalAuth, @Ctx() ctx: Context): Promise<Installation[]> {
    return installationsOf(ctx, state);
  }

  @Access({ needs: ["external_auth_link:read"] })
  @Query(() => ExternalAuthObject, {
    nullable: true,
    description:
      "Returns the caller's linked account at a provider and its state. Refreshes an expired access token and validates it. Fails with UNAVAILABLE if the provider fails and there is no recent result.",
  })
  externalAuth(
    @Arg("id", { description: "ID of the provider, in any letter case." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<ExternalAuth> {
    return readExternalAuth(ctx, id);
  }

  @Access({ needs: ["all"], openTo: ["session", "agent"] })
  @Query(() => ExternalAuthAccessToken, {
    nullable: true,
    description:
      "Returns an access token of the caller, or for an agent of the owner of its workspace. Each delivery is recorded in the audit log.",
  })
  externalAuthAccessToken(
    @Arg("providerId", () => String, { nullable: true, description: "ID of the provider, in any letter case." })
    providerId: string | undefined,
    @Arg("url", () => String, {
      nullable: true,
      description: "URL of a Git repository, instead of `providerId`: selects the first provider that serves it.",
    })
    url: string | undefined,
    @Ctx() ctx: Context,
  ): Promise<AccessToken> {
    return readAccessToken(ctx, { providerId, url });
  }
}
