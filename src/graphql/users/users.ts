import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Role } from "../../domain/authorization/roles.js";
import type { Page } from "../../domain/kernel/page.js";
import { onlyReference } from "../../domain/kernel/references.js";
import {
  findUser,
  LoginType,
  organizationIdsOf,
  readableAccount,
  type UserRow,
  UserStatus,
} from "../../domain/users/users.js";
import { listUsers, type UserFilter } from "../../domain/users/listing.js";
import { type HeldRole, RoleName, rolesOf } from "../../domain/users/roles.js";
import { AnyScope, CountsAs, Covers, Needs, ReadWith } from "../engine/access.js";
import { connectionOf, PageArgs } from "../engine/connections.js";
import { DateTime, EmailAddress, Url, UUID } from "../engine/scalars.js";

registerEnumType(UserStatus, {
  name: "UserStatus",
  description: "Whether a user may use the deployment.",
  valuesConfig: {
    ACTIVE: { description: "May sign in." },
    SUSPENDED: { description: "Is kept out; what the user owns stays." },
  },
});

registerEnumType(LoginType, {
  name: "LoginType",
  description: "How a user signs in.",
  valuesConfig: {
    PASSWORD: { description: "With e-mail and password." },
    OIDC: { description: "Through the OpenID Connect provider." },
    GITHUB: { description: "Through GitHub." },
    NONE: { description: "Not at all: service accounts." },
  },
});

registerEnumType(RoleName, {
  name: "RoleName",
  description: "What somebody may do, in the deployment or in an organisation.",
  valuesConfig: {
    OWNER: { description: "May do everything in the deployment but what is personal." },
    TEMPLATE_ADMIN: { description: "Administers the templates of all organisations." },
    USER_ADMIN: { description: "Administers users, memberships and groups of all organisations." },
    AUDITOR: { description: "Sees logs and settings of the deployment." },
    MEMBER: { description: "Every signed-in user. Comes by itself, and is not listed." },
    ORGANIZATION_ADMIN: { description: "Administers the organisation." },
    ORGANIZATION_TEMPLATE_ADMIN: { description: "Administers the templates of the organisation." },
    ORGANIZATION_USER_ADMIN: { description: "Administers members and groups of the organisation." },
    ORGANIZATION_AUDITOR: { description: "Sees the logs of the organisation." },
    ORGANIZATION_MEMBER: { description: "Every member of the organisation. Comes by itself, and is not listed." },
  },
});

@ObjectType("UserRole", { simpleResolvers: true, description: "A role that somebody holds." })
export class UserRoleType implements HeldRole {
  @Field(() => RoleName, { description: "The role." }) name!: HeldRole["name"];
  @Field(() => String, { description: "What people call it." }) displayName!: string;
  @Field(() => String, { description: "The organisation it is held in; empty for roles in the deployment." })
  organizationId!: string;
}

@ReadWith("user:read", "id", "username", "name", "avatarUrl")
@ObjectType("User", { simpleResolvers: true, description: "A person or a service account." })
export class UserType implements Omit<UserRow, "siteRoles" | "isSystem" | "memberships"> {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => String, { description: "Unique name, in any letter case." }) username!: string;
  @Field(() => String, { description: "Real name; may be empty." }) name!: string;
  @Field(() => EmailAddress, { description: "Unique address, as it was typed." }) email!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) avatarUrl!: string;
  @Field(() => UserStatus, { description: "Whether the user may use the deployment." }) status!: UserStatus;
  @Field(() => LoginType, { description: "How the user signs in." }) loginType!: LoginType;
  @Field(() => Boolean, { description: "Whether this is no person but an account for programs." })
  isServiceAccount!: boolean;
  @Field(() => DateTime, { nullable: true, description: "The last use of the deployment, up to 5 minutes late." })
  lastSeenAt!: string | null;
  @Field(() => DateTime, { description: "When the user was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the account was last changed." }) updatedAt!: string;
}

@ObjectType("PublicUser", {
  simpleResolvers: true,
  description: "What everyone who sees a record may know of the user that it refers to.",
})
export class PublicUserType implements Pick<UserRow, "id" | "username" | "name" | "avatarUrl"> {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => String, { description: "The username." }) username!: string;
  @Field(() => String, { description: "Real name; may be empty." }) name!: string;
  @Field(() => Url, { description: "A picture; may be empty." }) avatarUrl!: string;
}

const UserConnection = connectionOf("User", () => UserType);

@InputType("UserFilter", { description: "Which users are wanted. What is absent does not narrow." })
class UserFilterInput implements UserFilter {
  @Field(() => String, {
    nullable: true,
    description: "A part of the username, the e-mail or the real name, in any letter case.",
  })
  search?: string;
  @Field(() => UserStatus, { nullable: true, description: "Their status." }) status?: UserStatus;
  @Field(() => RoleName, { nullable: true, description: "A role they hold, in the deployment or in an organisation." })
  role?: Role;
  @Field(() => LoginType, { nullable: true, description: "How they sign in." }) loginType?: LoginType;
  @Field(() => String, { nullable: true, description: "An organisation they are in: id, name or `default`." })
  organization?: string;
  @Field(() => DateTime, { nullable: true, description: "Created then or later." }) createdAfter?: string;
  @Field(() => DateTime, { nullable: true, description: "Created then or earlier." }) createdBefore?: string;
  @Field(() => DateTime, { nullable: true, description: "Last seen then or later." }) lastSeenAfter?: string;
  @Field(() => DateTime, { nullable: true, description: "Last seen then or earlier." }) lastSeenBefore?: string;
  @Field(() => Boolean, { nullable: true, description: "Whether they are service accounts." }) serviceAccount?: boolean;
}

@Resolver(() => PublicUserType)
export class PublicUsersResolver {
  @Covers()
  @FieldResolver(() => UserType, {
    nullable: true,
    description: "The whole user, if the caller and the scopes of its credential may read it.",
  })
  account(@Root() user: UserRow, @Ctx() ctx: Context): Promise<UserRow | null> {
    return readableAccount(ctx, user);
  }
}

@Resolver(() => UserType)
export class UsersResolver {
  @CountsAs(2)
  @FieldResolver(() => [UserRoleType], { description: "Roles held in the deployment, then those in organisations." })
  roles(@Root() user: UserRow, @Ctx() ctx: Context): Promise<HeldRole[]> {
    return rolesOf(ctx, user);
  }

  @FieldResolver(() => [UUID], { description: "The organisations the user belongs to." })
  organizationIds(@Root() user: UserRow, @Ctx() ctx: Context): Promise<string[]> {
    return organizationIdsOf(ctx, user);
  }

  @FieldResolver(() => Boolean, {
    description:
      "Whether the user started a task in the current calendar month (UTC). Always false while there are no tasks.",
  })
  hasAiSeat(): boolean {
    return false;
  }

  @FieldResolver(() => String, {
    description: "Always empty.",
    deprecationReason: "Themes are a matter of the client.",
  })
  themePreference(): string {
    return "";
  }

  @AnyScope()
  @Covers()
  @Query(() => UserType, { description: "The caller." })
  me(@Ctx() ctx: Context): Promise<UserRow> {
    return findUser(ctx, "me");
  }

  @Needs("user:read")
  @Query(() => UserType, { description: "One user, by id or by username." })
  user(
    @Arg("id", () => UUID, { nullable: true, description: "The user's id." }) id: string | undefined,
    @Arg("username", () => String, { nullable: true, description: "The username, in any letter case." }) username:
      | string
      | undefined,
    @Ctx() ctx: Context,
  ): Promise<UserRow> {
    return findUser(ctx, onlyReference({ id, username }));
  }

  @Needs("user:read")
  @Query(() => UserConnection, { description: "The users whom the caller may read, by username." })
  users(
    @Arg("filter", () => UserFilterInput, { nullable: true, description: "Which users are wanted." }) filter:
      | UserFilter
      | undefined,
    @Args(() => PageArgs) page: PageArgs,
    @Ctx() ctx: Context,
  ): Promise<Page<UserRow>> {
    return listUsers(ctx, filter ?? {}, page);
  }
}
