import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  InputType,
  Mutation,
  ObjectType,
  Query,
  registerEnumType,
  Resolver,
  Root,
} from "type-graphql";
import type { Context } from "../context.js";
import type { Role } from "../domain/authorization/roles.js";
import type { Page } from "../domain/page.js";
import { onlyReference } from "../domain/references.js";
import { findUser, LoginType, organizationIdsOf, type UserRow, usersById, UserStatus } from "../domain/users.js";
import {
  type AccountChange,
  activateUser,
  type CreateUser,
  createUser,
  deleteUser,
  resetUserPassword,
  suspendUser,
  updateProfile,
  updateUser,
} from "../domain/users/accounts.js";
import { listUsers, type UserFilter } from "../domain/users/listing.js";
import { type HeldRole, RoleName, rolesOf, setUserRoles } from "../domain/users/roles.js";
import { Needs } from "./access.js";
import { connectionOf, PageArgs } from "./connections.js";
import { DateTime, EmailAddress, Url, UUID } from "./scalars.js";

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

@InputType({ description: "A new user." })
class CreateUserInput implements CreateUser {
  @Field(() => EmailAddress, { nullable: true, description: "Required. Unique, in any letter case." }) email?: string;
  @Field(() => String, { nullable: true, description: "Required. Unique, in any letter case." }) username?: string;
  @Field(() => String, { nullable: true, description: "Real name, at most 128 characters. Default: empty." })
  name?: string;
  @Field(() => LoginType, { nullable: true, description: "Default: PASSWORD for people, NONE for service accounts." })
  loginType?: LoginType;
  @Field(() => String, { nullable: true, description: "Required for those who sign in with it; refused for others." })
  password?: string;
  @Field(() => [UUID], {
    nullable: true,
    description: "Organisations to belong to, at least one. Default: the default organisation.",
  })
  organizationIds?: string[];
  @Field(() => Boolean, { nullable: true, description: "An account for programs, for good. Default: false." })
  isServiceAccount?: boolean;
}

@InputType({ description: "Changes of somebody's account. What is absent stays." })
class UpdateUserInput implements AccountChange {
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
  @Field(() => EmailAddress, { nullable: true, description: "New e-mail address." }) email?: string;
  @Field(() => String, { nullable: true, description: "New username." }) username?: string;
  @Field(() => String, { nullable: true, description: "New real name." }) name?: string;
  @Field(() => Url, { nullable: true, description: "New picture; empty for none." }) avatarUrl?: string;
}

@InputType({ description: "Changes of one's own account. What is absent stays." })
class UpdateProfileInput implements AccountChange {
  @Field(() => String, { nullable: true, description: "New real name." }) name?: string;
  @Field(() => Url, { nullable: true, description: "New picture; empty for none." }) avatarUrl?: string;
  @Field(() => String, { nullable: true, description: "New username." }) username?: string;
}

/** The input of verbs that need to know nothing but whom they are about. */
function userInput(verb: string, description: string) {
  @InputType(`${verb}UserInput`, { description })
  class UserInput {
    @Field(() => String, { description: "The user: id or username." }) user!: string;
  }
  return UserInput;
}

const SuspendUserInput = userInput("Suspend", "Whom to keep out.");
const ActivateUserInput = userInput("Activate", "Whom to let in again.");
const DeleteUserInput = userInput("Delete", "Whom to delete.");

@InputType({ description: "The roles that somebody shall hold in the deployment." })
class SetUserRolesInput {
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
  @Field(() => [RoleName], { nullable: true, description: "Required. Replaces all roles held in the deployment." })
  roles?: Role[];
}

@InputType({ description: "A new password for somebody." })
class ResetUserPasswordInput {
  @Field(() => String, { description: "The user: id, username or `me`." }) user!: string;
  @Field(() => String, { nullable: true, description: "Required. Hard to guess." }) password?: string;
}

interface UserPayload {
  userId: string;
}

/** The payload of verbs that leave a user behind, who is read after the commit. */
function userPayload(verb: string, description: string) {
  @ObjectType(`${verb}Payload`, { description })
  class Payload {
    @Field(() => UserType, { description: "The user." })
    user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
      return ctx.load(usersById, userId);
    }
  }
  return Payload;
}

const CreateUserPayload = userPayload("CreateUser", "The user created.");
const UpdateUserPayload = userPayload("UpdateUser", "The user changed.");
const UpdateProfilePayload = userPayload("UpdateProfile", "The caller.");
const SuspendUserPayload = userPayload("SuspendUser", "The user kept out.");
const ActivateUserPayload = userPayload("ActivateUser", "The user let in.");
const SetUserRolesPayload = userPayload("SetUserRoles", "The user with the new roles.");
const ResetUserPasswordPayload = userPayload("ResetUserPassword", "The user with the new password.");

@ObjectType({ simpleResolvers: true, description: "The user deleted." })
class DeleteUserPayload {
  @Field(() => UserType, { description: "The user as it was." }) user!: UserRow;
}

@Resolver(() => UserType)
export class UsersResolver {
  @FieldResolver(() => [UserRoleType], { description: "Roles held in the deployment, then those in organisations." })
  roles(@Root() user: UserRow, @Ctx() ctx: Context): Promise<HeldRole[]> {
    return rolesOf(ctx, user);
  }

  @FieldResolver(() => [UUID], { description: "The organisations the user belongs to." })
  organizationIds(@Root() user: UserRow, @Ctx() ctx: Context): Promise<string[]> {
    return organizationIdsOf(ctx, user);
  }

  @FieldResolver(() => String, {
    description: "Always empty.",
    deprecationReason: "Themes are a matter of the client.",
  })
  themePreference(): string {
    return "";
  }

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

  @Needs("user:create")
  @Mutation(() => CreateUserPayload, { description: "Creates a person or a service account." })
  async createUser(@Arg("input", () => CreateUserInput) input: CreateUser, @Ctx() ctx: Context): Promise<UserPayload> {
    return { userId: await createUser(ctx, input) };
  }

  @Needs("user:update")
  @Mutation(() => UpdateUserPayload, { description: "Changes somebody's account." })
  async updateUser(
    @Arg("input", () => UpdateUserInput) input: UpdateUserInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await updateUser(ctx, input) };
  }

  @Needs("user:update_personal")
  @Mutation(() => UpdateProfilePayload, { description: "Changes the caller's own account." })
  async updateProfile(
    @Arg("input", () => UpdateProfileInput) input: UpdateProfileInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await updateProfile(ctx, input) };
  }

  @Needs("user:update")
  @Mutation(() => SuspendUserPayload, { description: "Keeps somebody out: sessions and tokens end at once." })
  async suspendUser(
    @Arg("input", () => SuspendUserInput) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await suspendUser(ctx, user) };
  }

  @Needs("user:update")
  @Mutation(() => ActivateUserPayload, { description: "Lets somebody in again, who has to sign in anew." })
  async activateUser(
    @Arg("input", () => ActivateUserInput) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await activateUser(ctx, user) };
  }

  @Needs("user:delete")
  @Mutation(() => DeleteUserPayload, {
    description: "Deletes somebody for good. The e-mail and the username are free again.",
  })
  async deleteUser(
    @Arg("input", () => DeleteUserInput) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<DeleteUserPayload> {
    return { user: await deleteUser(ctx, user) };
  }

  @Needs("assign_role:assign", "assign_role:unassign")
  @Mutation(() => SetUserRolesPayload, { description: "Replaces the roles that somebody holds in the deployment." })
  async setUserRoles(
    @Arg("input", () => SetUserRolesInput) input: SetUserRolesInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await setUserRoles(ctx, input) };
  }

  @Needs("user:update")
  @Mutation(() => ResetUserPasswordPayload, {
    description: "Gives somebody a new password. All sessions and tokens of the user end.",
  })
  async resetUserPassword(
    @Arg("input", () => ResetUserPasswordInput) input: ResetUserPasswordInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await resetUserPassword(ctx, input) };
  }
}
