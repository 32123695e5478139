import { Arg, Args, Ctx, Field, FieldResolver, ObjectType, Query, Resolver, Root } from "type-graphql";
import { databaseTime } from "../../runtime/clock.js";
import type { Context } from "../../domain/kernel/context.js";
import { mostCounted } from "../../domain/kernel/lists.js";
import type { Page } from "../../domain/kernel/paging.js";
import {
  findUser,
  LoginType,
  organizationIdsOf,
  readableAccount,
  type UserRow,
  UserStatus,
} from "../../domain/users/users.js";
import { listUsers, UserFilter, UserOrder, UsersQuery } from "../../domain/users/listing.js";
import { type HeldRole, RoleName, rolesOf } from "../../domain/users/user-roles.js";
import { Access } from "../engine/access.js";
import { enumType } from "../engine/declarations.js";
import { connectionOf, orderType } from "../engine/lists.js";
import { DateTime, EmailAddress, Url, UUID } from "../engine/scalars.js";
import { argumentsOf, inputType } from "../engine/inputs.js";

enumType({ UserStatus }, "The status of a user, which decides if the user may use the deployment.", {
  ACTIVE: "The user may sign in.",
  SUSPENDED: "The user may not sign in. Everything the user owns is kept.",
});

enumType({ LoginType }, "How a user signs in.", {
  PASSWORD: "With email address and password.",
  OIDC: "Through the OpenID Connect provider.",
  GITHUB: "Through GitHub.",
  NONE: "The user cannot sign in. Used by service accounts.",
});

enumType({ RoleName }, "A role, held in the deployment or in an organization (`ORGANIZATION_` prefix).", {
  OWNER: "Full access to the deployment, except to users' personal data.",
  TEMPLATE_ADMIN: "Manages the templates of all organizations.",
  USER_ADMIN: "Manages the users, memberships, and groups of all organizations.",
  AUDITOR: "Reads the logs and settings of the deployment.",
  MEMBER: "Held implicitly by every user; never listed.",
  ORGANIZATION_ADMIN: "Manages the organization.",
  ORGANIZATION_TEMPLATE_ADMIN: "Manages the templates of the organization.",
  ORGANIZATION_USER_ADMIN: "Manages the members and groups of the organization.",
  ORGANIZATION_AUDITOR: "Reads the logs of the organization.",
  ORGANIZATION_MEMBER: "Held implicitly by every member of the organization; never listed.",
});

@ObjectType("UserRole", { simpleResolvers: true, description: "A role held by a user." })
export class UserRoleType implements HeldRole {
  @Field(() => RoleName, { description: "Name of the role." }) name!: HeldRole["name"];
  @Field({ description: "Display name." }) displayName!: string;
  @Field({
    description: "ID of the organization that the role is held in; empty for roles in the deployment.",
  })
  organizationId!: string;
}

@Access({ readWith: "user:read", references: ["id", "username", "name", "avatarUrl"] })
@ObjectType("User", { simpleResolvers: true, description: "A person or a service account." })
export class UserType implements Omit<
  UserRow,
  "siteRoles" | "aiSeatAt" | "isSystem" | "memberships" | "deprovisionedAt"
> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Unique username, case-insensitive." }) username!: string;
  @Field({ description: "Real name; may be empty." }) name!: string;
  @Field(() => EmailAddress, { description: "Unique email address, in the letter case it was entered in." })
  email!: string;
  @Field(() => EmailAddress, {
    nullable: true,
    description:
      "The email address that the user had until an identity provider deleted the user and another user took it. `email` receives no mail then. Null for all others.",
  })
  formerEmail!: string | null;
  @Field(() => Url, { description: "URL of the avatar; may be empty." }) avatarUrl!: string;
  @Field(() => UserStatus, { description: "The status of the user, which decides if the user may use the deployment." })
  status!: UserStatus;
  @Field(() => LoginType, { description: "How the user signs in." }) loginType!: LoginType;
  @Field({
    description:
      "Whether the user can do nothing else before the password was changed, which an administrator has set.",
  })
  mustChangePassword!: boolean;
  @Field({ description: "Whether this is a service account, that is, an account for programs." })
  isServiceAccount!: boolean;
  @Field(() => DateTime, {
    nullable: true,
    description: "When the user last used the deployment, accurate to 5 minutes; null if never.",
  })
  lastSeenAt!: string | null;
  @Field(() => DateTime, { description: "When the user was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the account was last updated." }) updatedAt!: string;
}

@ObjectType("PublicUser", {
  simpleResolvers: true,
  description: "The public profile of a user, visible to everyone who may read a record that refers to the user.",
})
export class PublicUserType implements Pick<UserRow, "id" | "username" | "name" | "avatarUrl"> {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Username." }) username!: string;
  @Field({ description: "Real name; may be empty." }) name!: string;
  @Field(() => Url, { description: "URL of the avatar; may be empty." }) avatarUrl!: string;
}

export const UserConnection = connectionOf("User", () => UserType, { most: mostCounted });

orderType("User", UserOrder, {
  USERNAME: "By username, case-insensitive.",
  CREATED_AT: "By the time of creation.",
});

inputType("UserFilter", UserFilter, {
  description: "Criteria for filtering users. A user must match all given fields.",
});

@Resolver(() => PublicUserType)
export class PublicUsersResolver {
  @Access({ covers: "everything" })
  @FieldResolver(() => UserType, {
    nullable: true,
    description: "The user; null unless the caller and the scopes of its credential may read it.",
  })
  account(@Root() user: UserRow, @Ctx() ctx: Context): Promise<UserRow | null> {
    return readableAccount(ctx, user);
  }
}

const UsersArgs = argumentsOf(UsersQuery);

@Resolver(() => UserType)
export class UsersResolver {
  @Access({ countsAs: 2 })
  @FieldResolver(() => [UserRoleType], {
    description: "Roles held in the deployment, followed by those held in organizations.",
  })
  roles(@Root() user: UserRow, @Ctx() ctx: Context): HeldRole[] | Promise<HeldRole[]> {
    return rolesOf(ctx, user);
  }

  @FieldResolver(() => [UUID], { description: "IDs of the organizations that the user is a member of." })
  organizationIds(@Root() user: UserRow, @Ctx() ctx: Context): Promise<string[]> {
    return organizationIdsOf(ctx, user);
  }

  @FieldResolver(() => Boolean, {
    description: "Whether the user started a task in the current calendar month (UTC).",
  })
  hasAiSeat(@Root() { aiSeatAt }: UserRow): boolean {
    // RFC 3339 in UTC begins with the year and the month.
    return aiSeatAt?.slice(0, 7) === new Date(databaseTime()).toISOString().slice(0, 7);
  }

  @FieldResolver(() => String, {
    description: "Always empty.",
    deprecationReason: "Themes are stored by clients.",
  })
  themePreference(): string {
    return "";
  }

  @Access({ anyScope: true, covers: "everything" })
  @Query(() => UserType, { description: "Returns the caller." })
  me(@Ctx() ctx: Context): Promise<UserRow> {
    return findUser(ctx, "me");
  }

  @Access({ needs: ["user:read"] })
  @Query(() => UserType, { nullable: true, description: "Returns a user." })
  user(
    @Arg("user", { description: "The user: ID, username (case-insensitive), or `me`." }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserRow> {
    return findUser(ctx, user);
  }

  @Access({ needs: ["user:read"] })
  @Query(() => UserConnection, { description: "Lists the users that the caller may read, by default by username." })
  users(@Args(() => UsersArgs) { filter, orderBy, ...page }: UsersQuery, @Ctx() ctx: Context): Promise<Page<UserRow>> {
    return listUsers(ctx, filter ?? {}, page, orderBy);
  }
}
