import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { OrganizationRow } from "../../domain/organizations/organizations.js";
import {
  createIdentityProvider,
  deleteIdentityProvider,
  DeleteIdentityProvider,
  orderIdentityProviders,
  OrderIdentityProviders,
  updateIdentityProvider,
} from "../../domain/sign-in/provider-changes.js";
import { ProviderSource } from "../../domain/sign-in/provider-registry.js";
import {
  CreateIdentityProvider,
  EmailVerification,
  UpdateIdentityProvider,
} from "../../domain/sign-in/provider-settings.js";
import {
  linkCountsOf,
  listIdentityProviders,
  NamedProvider,
  organizationsOfProvider,
  readIdentityProvider,
  type SignInProviderRow,
} from "../../domain/sign-in/sign-in-providers.js";
import {
  type MappingTrial,
  type PersonTrial,
  tryClaimMappings,
  TryClaimMappings,
} from "../../domain/sign-in/mapping-trials.js";
import { reportsOf, type SignInReport } from "../../domain/sign-in/sign-in-reports.js";
import {
  beginIdentityLink,
  BeginIdentityLink,
  testIdentityProvider,
  type TicketIssued,
} from "../../domain/sign-in/tickets.js";
import {
  ClaimFate,
  type ClaimGrant,
  ClaimGrantInput,
  type ClaimMapping,
  ClaimMappingInput,
} from "../../domain/sign-in/claim-mappings.js";
import { RoleName } from "../../domain/users/user-roles.js";
import { EmailLinking, ProviderKind } from "../../infrastructure/identity-providers.js";
import type { ClaimEffect } from "../../domain/sign-in/claimed-access.js";
import { Access } from "../engine/access.js";
import { enumType, Mutates } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { DateTime, Url } from "../engine/scalars.js";
import { OrganizationType } from "../organizations/organizations.js";

enumType({ EmailVerification }, "How an address counts if its provider does not say that it is verified.", {
  TRUSTED: "As verified, in the email domains of the provider.",
  REQUIRED: "As unverified.",
});
enumType({ EmailLinking }, "Which accounts without an identity a provider links by their verified address.", {
  ANY: "All of them.",
  DOMAINS: "Those whose address is in the email domains of the provider.",
  NEVER: "None: administrators link identities.",
});
enumType({ ProviderSource }, "Where a provider comes from.", {
  STORED: "Owners made it.",
  FILE: "A file of the server declares it.",
  VARIABLES: "Variables of the server declare it.",
});

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("SignInReport", {
  simpleResolvers: true,
  description: "How sign-ins through a provider went lately. The times are accurate to a minute.",
})
class SignInReportType implements SignInReport {
  @Field(() => DateTime, { nullable: true, description: "When a person last signed in through it; null for never." })
  succeededAt!: string | null;
  @Field(() => DateTime, { nullable: true, description: "When a sign-in last failed; null for never." })
  failedAt!: string | null;
  @Field({ description: "Why it failed; empty if none did." }) failure!: string;
  @Field(() => DateTime, {
    nullable: true,
    description: "When a claim was last malformed, or could not be applied; null for never.",
  })
  warnedAt!: string | null;
  @Field({ description: "Which claim, and why; may be empty." }) warning!: string;
}

enumType({ ClaimFate }, "The fate of what a claim gave earlier, when it gives nothing.", {
  KEEP: "It stays.",
  REMOVE: "It is taken away.",
});

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("ClaimGrant", { simpleResolvers: true, description: "Gifts to people whose claim has one of some values." })
class ClaimGrantType implements ClaimGrant {
  @Field(() => [String], { description: "The values." }) values!: readonly string[];
  @Field(() => [String], { description: "Groups, by ID or name." }) groups!: readonly string[];
  @Field({ description: "Organization, by ID or name; empty if the roles are those of the deployment." })
  organization!: string;
  @Field(() => [RoleName], { description: "Roles there." }) roles!: readonly string[];
}

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("ClaimMapping", {
  simpleResolvers: true,
  description: "A claim whose values give groups, organizations, and roles.",
})
class ClaimMappingType implements ClaimMapping {
  @Field({ description: "Name of the claim, or a path." }) claim!: string;
  @Field({ description: "Separator of the values of a text; empty if it is one value." }) separator!: string;
  @Field(() => ClaimFate, { description: "The fate of earlier gifts if the claim is absent." }) absent!: ClaimFate;
  @Field(() => ClaimFate, { description: "Their fate if it is empty." }) empty!: ClaimFate;
  @Field(() => ClaimFate, { description: "Their fate if it is no list of texts, or was left out for its size." })
  malformed!: ClaimFate;
  @Access({ countsAs: 10 })
  @Field(() => [ClaimGrantType], { description: "Gifts by values." })
  grants!: readonly ClaimGrant[];
  @Field({ description: "Organization whose groups people join that are called like values; may be empty." })
  groupsOf!: string;
  @Field({ description: "Values that count as names of groups." }) groupPattern!: string;
  @Field(() => Int, { description: "How many groups providers may make there." }) mostNewGroups!: number;
}

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("IdentityProvider", {
  simpleResolvers: true,
  description: "A provider at which users sign in, as owners see it. Its credential is never returned.",
})
export class IdentityProviderType implements Omit<SignInProviderRow, "organizations"> {
  @Field({ description: "Unique ID. That of a provider that the settings of the server declare is its name." })
  id!: string;
  @Field({ description: "Unique name, as in the path of its sign-in." }) name!: string;
  @Field(() => ProviderKind, { description: "Its kind." }) kind!: ProviderKind;
  @Field(() => ProviderSource, { description: "Where it comes from. Only stored ones can be changed." })
  source!: ProviderSource;
  @Field({ description: "Name that sign-in pages show; may be empty." }) displayName!: string;
  @Field({ description: "The name that sign-in pages show: the display name, or the host of the issuer." })
  label!: string;
  @Field({ description: "Path of an image on this server, or the image as a data URL; may be empty." }) icon!: string;
  @Field({ description: "URL of the issuer, or of the site of GitHub." }) issuer!: string;
  @Field({ description: "Client ID of this server there." }) clientId!: string;
  @Field({ description: "Whether this server authenticates by a private key instead of a secret." }) usesKey!: boolean;
  @Field(() => [String], { description: "The requested scopes." }) scopes!: readonly string[];
  @Field({ description: "Claim that identifies users permanently." }) subjectClaim!: string;
  @Field(() => EmailVerification, {
    description: "How addresses in its email domains count if it does not say that they are verified.",
  })
  emailVerified!: SignInProviderRow["emailVerified"];
  @Field(() => [String], { description: "Domains of email addresses whose people are admitted." })
  emailDomains!: readonly string[];
  @Field({ description: "Whether accounts get another verified address in its email domains." })
  followsEmail!: boolean;
  @Field(() => EmailLinking, { description: "Which accounts without an identity it links by their address." })
  linksByEmail!: EmailLinking;
  @Field({ description: "Whether people without an account get one." }) admitsNewcomers!: boolean;
  @Field(() => [String], { description: "The tenants whose users may sign in; empty for all." })
  tenants!: readonly string[];
  @Field(() => [String], { description: "The hosted domains whose users may sign in; empty for all." })
  hostedDomains!: readonly string[];
  @Field(() => [String], {
    description: "Values of `amr` in ID tokens by which it says that it checked a second factor; empty for none.",
  })
  factorMethods!: readonly string[];
  @Field(() => [String], { description: "Values of `acr` by which it says so; empty for none." })
  factorContexts!: readonly string[];
  @Access({ countsAs: 2 })
  @Field(() => [ClaimMappingType], { description: "Claims that give groups, organizations, and roles." })
  claimMappings!: readonly ClaimMapping[];
  @Field({ description: "Whether sign-ins apply them." }) appliesClaims!: boolean;
  @Field({ description: "Whether the names and members of groups that it made cannot be changed by hand." })
  locksGroups!: boolean;
  @Field({ description: "Whether people who sign out here are signed out there, too, if it has an endpoint for it." })
  signsOut!: boolean;
  @Field(() => Int, { description: "Seconds between two checks of people who are signed in; 0 for none." })
  checkInterval!: number;
  @Field({ description: "Whether people are meant to sign in through it." }) isEnabled!: boolean;
  @Field({
    description: "Whether people can sign in: it is enabled, and the settings of the server declare none of its name.",
  })
  isActive!: boolean;
  @Field(() => Url, { description: "Where a browser starts to sign in." }) signInUrl!: string;
  @Field(() => Url, { description: "The redirect URI to register at the provider." }) redirectUrl!: string;
}

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("ClaimEffect", { simpleResolvers: true, description: "A change of access by a claim." })
class ClaimEffectType implements ClaimEffect {
  @Field({ description: "The change in words, or why it could not be made." }) text!: string;
  @Field({ description: "Whether it could not be made." }) isWarning!: boolean;
}

@Access({ readWith: "sign_in_provider:read" })
@ObjectType("ClaimTrial", {
  simpleResolvers: true,
  description: "The effects that the claims of the last sign-in of a person would have.",
})
class ClaimTrialType implements PersonTrial {
  @Field({ description: "Username." }) username!: string;
  @Field(() => DateTime, { description: "When the person signed in." }) signedInAt!: string;
  @Access({ countsAs: 10 })
  @Field(() => [ClaimEffectType], { description: "The changes; empty for none." })
  effects!: ClaimEffect[];
}

inputType("ClaimGrantInput", ClaimGrantInput, { description: "Gifts to people whose claim has one of some values." });

inputType("ClaimMappingInput", ClaimMappingInput, {
  description: "A claim whose values give groups, organizations, and roles.",
});

const CreateIdentityProviderInput = inputType("CreateIdentityProviderInput", CreateIdentityProvider);

const UpdateIdentityProviderInput = inputType("UpdateIdentityProviderInput", UpdateIdentityProvider, {
  description: "Input of `updateIdentityProvider`. Omitted fields keep their value.",
});

const DeleteIdentityProviderInput = inputType("DeleteIdentityProviderInput", DeleteIdentityProvider);

const OrderIdentityProvidersInput = inputType("OrderIdentityProvidersInput", OrderIdentityProviders);

const TestIdentityProviderInput = inputType("TestIdentityProviderInput", NamedProvider);

const BeginIdentityLinkInput = inputType("BeginIdentityLinkInput", BeginIdentityLink);

const TryClaimMappingsInput = inputType("TryClaimMappingsInput", TryClaimMappings);

const IdentityProviderArgs = argumentsOf(NamedProvider);

const changedProvider = {
  identityProvider: {
    type: () => IdentityProviderType,
    description: "The provider after the change.",
    covers: "everything",
  },
} as const;

const issuedTicket = {
  url: { type: () => Url, description: "Where the browser of the session goes, once." },
  expiresAt: { type: () => DateTime, description: "Until when." },
};

/** The payload of a mutation that leaves a provider behind, which is read if selected. */
const readChanged = (ctx: Context, id: string) => ({
  identityProvider: () => readIdentityProvider(ctx, { provider: id }),
});

@Resolver(() => IdentityProviderType)
export class IdentityProvidersResolver {
  @Access({ needs: ["sign_in_provider:read"], countsAs: 10 })
  @Query(() => [IdentityProviderType], {
    description:
      "Lists the providers at which users sign in, at most 100, in the order of sign-in pages. Requires the owner role.",
  })
  identityProviders(@Ctx() ctx: Context): Promise<SignInProviderRow[]> {
    return listIdentityProviders(ctx);
  }

  @Access({ needs: ["sign_in_provider:read"] })
  @Query(() => IdentityProviderType, {
    nullable: true,
    description: "Returns a provider at which users sign in. Requires the owner role.",
  })
  identityProvider(
    @Args(() => IdentityProviderArgs) args: NamedProvider,
    @Ctx() ctx: Context,
  ): Promise<SignInProviderRow> {
    return readIdentityProvider(ctx, args);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [OrganizationType], {
    description: "Organizations that newcomers join; empty for the default one.",
  })
  organizations(@Root() provider: SignInProviderRow, @Ctx() ctx: Context): Promise<OrganizationRow[]> {
    return organizationsOfProvider(ctx, provider);
  }

  @FieldResolver(() => Int, { description: "How many people have an identity there." })
  async linkedUserCount(@Root() { name }: SignInProviderRow, @Ctx() ctx: Context): Promise<number> {
    return (await ctx.load(linkCountsOf, name)).linked;
  }

  @FieldResolver(() => Int, {
    description: "How many of them have no other identity: they could not sign in without this provider.",
  })
  async strandedUserCount(@Root() { name }: SignInProviderRow, @Ctx() ctx: Context): Promise<number> {
    return (await ctx.load(linkCountsOf, name)).only;
  }

  @FieldResolver(() => SignInReportType, { description: "How sign-ins went lately." })
  report(@Root() { name }: SignInProviderRow, @Ctx() ctx: Context): Promise<SignInReport> {
    return ctx.load(reportsOf, name);
  }

  @Access({ needs: ["sign_in_provider:create"], openTo: ["session"] })
  @Mutates("Makes a provider at which users sign in. Requires the owner role and a session.", changedProvider)
  async createIdentityProvider(
    @Arg("input", () => CreateIdentityProviderInput, { description: "The settings." }) input: CreateIdentityProvider,
    @Ctx() ctx: Context,
  ) {
    return readChanged(ctx, await createIdentityProvider(ctx, input));
  }

  @Access({ needs: ["sign_in_provider:update"], openTo: ["session"] })
  @Mutates(
    "Changes a provider that owners made, on all replicas within a second. Sign-ins under way have to begin again. Requires the owner role and a session.",
    changedProvider,
  )
  async updateIdentityProvider(
    @Arg("input", () => UpdateIdentityProviderInput, { description: "The changes." }) input: UpdateIdentityProvider,
    @Ctx() ctx: Context,
  ) {
    return readChanged(ctx, await updateIdentityProvider(ctx, input));
  }

  @Access({ needs: ["sign_in_provider:delete"], openTo: ["session"] })
  @Mutates(
    "Deletes a provider that owners made, with the identities of people there. Those who have no other identity are signed out, and cannot sign in until an administrator links another one: their number must be confirmed. Requires the owner role and a session.",
    {
      identityProvider: {
        type: () => IdentityProviderType,
        description: "The provider before its deletion.",
        covers: "everything",
      },
    },
  )
  async deleteIdentityProvider(
    @Arg("input", () => DeleteIdentityProviderInput, { description: "The provider." }) input: DeleteIdentityProvider,
    @Ctx() ctx: Context,
  ) {
    return { identityProvider: await deleteIdentityProvider(ctx, input) };
  }

  @Access({ needs: ["sign_in_provider:update"], openTo: ["session"] })
  @Mutates(
    "Orders the providers that owners made. Those that the settings of the server declare come before them. Requires the owner role and a session.",
    {
      identityProviders: {
        type: () => [IdentityProviderType],
        description: "All providers in the new order.",
        covers: "everything",
      },
    },
  )
  async orderIdentityProviders(
    @Arg("input", () => OrderIdentityProvidersInput, { description: "The order." }) input: OrderIdentityProviders,
    @Ctx() ctx: Context,
  ) {
    await orderIdentityProviders(ctx, input);
    return { identityProviders: () => listIdentityProviders(ctx) };
  }

  @Access({ needs: ["sign_in_provider:update"], openTo: ["session"] })
  @Mutates(
    "Begins a test of a provider. The browser of the session goes to the URL, signs in at the provider, and sees the claims that came and what they would do. No user is signed in, and nothing is stored. Requires the owner role and a session.",
    issuedTicket,
  )
  testIdentityProvider(
    @Arg("input", () => TestIdentityProviderInput, { description: "The provider." }) input: NamedProvider,
    @Ctx() ctx: Context,
  ): Promise<TicketIssued> {
    return testIdentityProvider(ctx, input);
  }

  @Access({ needs: ["sign_in_provider:update"], openTo: ["session"] })
  @Mutates(
    "Tries the claim mappings of a provider, or others that are not stored, on the claims of the last sign-ins through it: one for each of at most 50 people who are still signed in. Claims are kept, sealed, from sign-ins while there are mappings that are not applied. Nothing is changed. Requires the owner role and a session.",
    {
      people: { type: () => [ClaimTrialType], description: "The people, the last one first.", covers: "everything" },
      skippedCount: { type: () => Int, description: "How many of the last people have no claims that were kept." },
    },
  )
  tryClaimMappings(
    @Arg("input", () => TryClaimMappingsInput, { description: "The provider and the mappings." })
    input: TryClaimMappings,
    @Ctx() ctx: Context,
  ): Promise<MappingTrial> {
    return tryClaimMappings(ctx, input);
  }

  @Access({ needs: ["user:update_personal"], openTo: ["session"] })
  @Mutates(
    "Begins to link an identity at another provider to the account of the caller, who signs in through a provider. The browser of the session goes to the URL, and signs in there. Requires a session.",
    issuedTicket,
  )
  beginIdentityLink(
    @Arg("input", () => BeginIdentityLinkInput, { description: "The provider." }) input: BeginIdentityLink,
    @Ctx() ctx: Context,
  ): Promise<TicketIssued> {
    return beginIdentityLink(ctx, input);
  }
}
