import { Arg, Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  acceptInvitation,
  AcceptInvitation,
  type InvitationOffer,
  InvitationOfferQuery,
  readInvitationOffer,
} from "../../domain/invitations/accepting.js";
import { usersById } from "../../domain/users/users.js";
import { ProviderKind } from "../../infrastructure/identity-providers.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { DateTime, EmailAddress } from "../engine/scalars.js";
import { UserType } from "../users/users.js";

@ObjectType("InvitationOffer", {
  simpleResolvers: true,
  description: "An invitation, for the person who has its link.",
})
class InvitationOfferType implements InvitationOffer {
  @Field(() => EmailAddress, { description: "Email address of the account." }) email!: string;
  @Field({ description: "Real name; may be empty." }) name!: string;
  @Field({ description: "A username that is free; may be empty." }) username!: string;
  @Field({ description: "Name of the user who sent it." }) inviterName!: string;
  @Field(() => [String], { description: "Names of the organizations that the person joins." })
  organizationNames!: string[];
  @Field(() => DateTime, { description: "Until when it can be accepted." }) expiresAt!: string;
  @Field({ description: "Whether it can be accepted with a password, by `acceptInvitation`." }) takesPassword!: boolean;
  @Field(() => [ProviderKind], {
    description: "The providers at which a sign-in with the email address accepts it.",
  })
  providers!: ProviderKind[];
}

const AcceptInvitationInput = inputType("AcceptInvitationInput", AcceptInvitation);

const InvitationOfferArgs = argumentsOf(InvitationOfferQuery);

@Resolver()
export class AcceptingInvitationsResolver {
  @Access({ open: true, tries: { secrets: "tokens", accountOf: () => "invitation" } })
  @Query(() => InvitationOfferType, {
    nullable: true,
    description: "Returns what the link of an invitation offers. Changes nothing. NOT_FOUND if it cannot be accepted.",
  })
  invitationOffer(
    @Args(() => InvitationOfferArgs) { token }: InvitationOfferQuery,
    @Ctx() ctx: Context,
  ): Promise<InvitationOffer> {
    return readInvitationOffer(ctx, token);
  }

  @Access({ open: true, tries: { secrets: "passwords", accountOf: () => "invitation" } })
  @Mutates(
    "Accepts an invitation by the token of its link, once: creates the account with a password, and signs in. Through a provider, people accept it by a sign-in with its email address. NOT_FOUND if it cannot be accepted.",
    {
      sessionToken: { type: () => String, description: "The token for further requests. It cannot be read again." },
      user: { type: () => UserType, description: "The new user.", covers: "everything" },
    },
    "A new account with a session.",
  )
  async acceptInvitation(
    @Arg("input", () => AcceptInvitationInput, { description: "The token, and the account." }) input: AcceptInvitation,
    @Ctx() ctx: Context,
  ) {
    const { userId, sessionToken } = await acceptInvitation(ctx, input);
    return { sessionToken, user: () => ctx.load(usersById, userId) };
  }
}
