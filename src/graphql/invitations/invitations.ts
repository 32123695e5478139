import { Arg, Args, Ctx, Field, FieldResolver, Int, ObjectType, Query, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import {
  findInvitation,
  InvitationDelivery,
  InvitationFilter,
  InvitationOrder,
  type InvitationRow,
  InvitationsQuery,
  InvitationStatus,
  type InvitedMembership,
  hasAccount,
  isVoid,
  listInvitations,
} from "../../domain/invitations/invitations.js";
import { invitedGroupsById } from "../../domain/invitations/inviting.js";
import { organizationsById } from "../../domain/organizations/organizations.js";
import { RoleName } from "../../domain/users/user-roles.js";
import { LoginType, usersById } from "../../domain/users/users.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { DateTime, EmailAddress, UUID } from "../engine/scalars.js";
import { PublicUserType } from "../users/users.js";

enumType({ InvitationDelivery }, "How the link of an invitation reaches the person.", {
  MAIL: "By mail.",
  LINK: "The administrator hands it over.",
});

enumType({ InvitationStatus }, "The status of an invitation.", {
  OPEN: "It can be accepted.",
  ACCEPTED: "The person has an account.",
  REVOKED: "An administrator has revoked it.",
  EXPIRED: "It was not accepted in time.",
});

@ObjectType("InvitedMembership", {
  simpleResolvers: true,
  description: "An organization that an invitation gives access to.",
})
class InvitedMembershipType {
  @Field(() => UUID, { description: "ID of the organization." }) organizationId!: string;
  @Field({ description: "Name of the organization." }) organizationName!: string;
  @Field(() => [RoleName], { description: "Roles there." }) roles!: InvitedMembership["roles"];
}

@ObjectType("InvitedGroup", { simpleResolvers: true, description: "A group that an invitation gives access to." })
class InvitedGroupType {
  @Field(() => UUID, { description: "ID of the group." }) id!: string;
  @Field({ description: "Name of the group." }) name!: string;
  @Field({ description: "Display name; may be empty." }) displayName!: string;
  @Field(() => UUID, { description: "ID of its organization." }) organizationId!: string;
}

@Access({ readWith: "invitation:read", references: ["id"] })
@ObjectType("Invitation", {
  simpleResolvers: true,
  description:
    "An invitation of a person who has no account. When it is accepted, it gives what its sender may give at that time.",
})
export class InvitationType implements Pick<
  InvitationRow,
  | "id"
  | "email"
  | "name"
  | "siteRoles"
  | "loginType"
  | "status"
  | "mailFault"
  | "createdAt"
  | "sentAt"
  | "expiresAt"
  | "endedAt"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field(() => EmailAddress, { description: "Email address of the person." }) email!: string;
  @Field({ description: "Real name; may be empty." }) name!: string;
  @Field(() => [RoleName], { description: "Roles in the deployment." }) siteRoles!: InvitationRow["siteRoles"];
  @Field(() => LoginType, { nullable: true, description: "How the person will sign in; null if the person chooses." })
  loginType!: InvitationRow["loginType"];
  @Field(() => InvitationStatus, { description: "Status." }) status!: InvitationStatus;
  @Field(() => String, {
    nullable: true,
    description: "Why the last attempt to mail it failed; null if it did not, or if its link was handed over.",
  })
  mailFault!: string | null;
  @Field(() => DateTime, { description: "When it was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last sent, or its link was made." }) sentAt!: string;
  @Field(() => Int, { description: "How often it was sent." }) sendCount!: number;
  @Field(() => DateTime, { description: "Until when it can be accepted." }) expiresAt!: string;
  @Field(() => DateTime, { nullable: true, description: "When it was accepted, revoked, or replaced; null before." })
  endedAt!: string | null;
}

const InvitationConnection = connectionOf("Invitation", () => InvitationType, { most: mostCounted });

inputType("InvitationFilter", InvitationFilter, {
  description: "Criteria for filtering invitations. An invitation must match all given fields.",
});

orderType("Invitation", InvitationOrder, {
  EMAIL: "By email, case-insensitive.",
  CREATED_AT: "By the time of creation.",
});

const InvitationsArgs = argumentsOf(InvitationsQuery);

@Resolver(() => InvitationType)
export class InvitationsResolver {
  @FieldResolver(() => InvitationDelivery, { description: "How its link reaches the person." })
  delivery(@Root() { mailState, mailFault }: InvitationRow): InvitationDelivery {
    return mailState === null && mailFault === null ? "link" : "mail";
  }

  @FieldResolver(() => Boolean, { description: "Whether its mail was accepted by the mail server." })
  isMailed(@Root() { mailState }: InvitationRow): boolean {
    return mailState === "sent";
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether an open invitation cannot be accepted, since its sender may create no users any more, or was suspended. Another administrator can send it again.",
  })
  isVoid(@Root() invitation: InvitationRow, @Ctx() ctx: Context): Promise<boolean> {
    return isVoid(ctx, invitation);
  }

  @FieldResolver(() => Boolean, {
    description: "Whether an open invitation cannot be accepted, since its email address has got an account otherwise.",
  })
  hasAccount(@Root() invitation: InvitationRow, @Ctx() ctx: Context): Promise<boolean> {
    return hasAccount(ctx, invitation);
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [InvitedMembershipType], { description: "The organizations that the person joins." })
  async memberships(@Root() { memberships }: InvitationRow, @Ctx() ctx: Context): Promise<InvitedMembershipType[]> {
    const found = await Promise.all(
      memberships.map(async (each) => ({
        ...each,
        organizationName: (await ctx.load(organizationsById, each.organizationId))?.name ?? "",
      })),
    );
    return found.filter(({ organizationName }) => organizationName !== "");
  }

  @Access({ countsAs: 2 })
  @FieldResolver(() => [InvitedGroupType], { description: "The groups that the person joins." })
  async groups(@Root() { groupIds }: InvitationRow, @Ctx() ctx: Context): Promise<InvitedGroupType[]> {
    const found = await Promise.all(groupIds.map((id) => ctx.load(invitedGroupsById, id)));
    return found.filter((group) => group !== undefined);
  }

  @FieldResolver(() => PublicUserType, { description: "Who sent it, and by whose rights it gives access." })
  inviter(@Root() { inviterId }: InvitationRow, @Ctx() ctx: Context) {
    return ctx.load(usersById, inviterId);
  }

  @FieldResolver(() => PublicUserType, { nullable: true, description: "The person who accepted it; null before." })
  user(@Root() { userId }: InvitationRow, @Ctx() ctx: Context) {
    return userId === null ? null : ctx.load(usersById, userId);
  }

  @Access({ needs: ["invitation:read"] })
  @Query(() => InvitationType, { nullable: true, description: "Returns an invitation." })
  invitation(
    @Arg("id", () => UUID, { description: "ID of the invitation." }) id: string,
    @Ctx() ctx: Context,
  ): Promise<InvitationRow> {
    return findInvitation(ctx, id);
  }

  @Access({ needs: ["invitation:read"] })
  @Query(() => InvitationConnection, {
    description:
      "Lists invitations, by default by email. Those that have ended stay for a month after they could be accepted.",
  })
  invitations(
    @Args(() => InvitationsArgs) { filter, orderBy, ...page }: InvitationsQuery,
    @Ctx() ctx: Context,
  ): Promise<Page<InvitationRow>> {
    return listInvitations(ctx, filter ?? {}, page, orderBy);
  }
}
