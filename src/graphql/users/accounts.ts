import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Role } from "../../domain/authorization/roles.js";
import { LoginType, type UserRow, usersById } from "../../domain/users/users.js";
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
} from "../../domain/users/accounts.js";
import { RoleName, setUserRoles } from "../../domain/users/roles.js";
import { ByArguments, Covers, Needs, OpenTo } from "../engine/access.js";
import { EmailAddress, Url, UUID } from "../engine/scalars.js";
import { UserType } from "./users.js";

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

/** The payload of verbs on a user that still exists: it is read in the transaction of the verb. */
function userPayload(verb: string, description: string, scopes: MethodDecorator = Needs()) {
  @ObjectType(`${verb}Payload`, { description })
  class Payload {
    @scopes
    @Field(() => UserType, { description: "The user." })
    user(@Root() { userId }: UserPayload, @Ctx() ctx: Context) {
      return ctx.load(usersById, userId);
    }
  }
  return Payload;
}

const CreateUserPayload = userPayload("CreateUser", "The user created.", Covers());
const UpdateUserPayload = userPayload("UpdateUser", "The user changed.");
const UpdateProfilePayload = userPayload("UpdateProfile", "The caller.", Covers());
const SuspendUserPayload = userPayload("SuspendUser", "The user kept out.");
const ActivateUserPayload = userPayload("ActivateUser", "The user let in.");
const SetUserRolesPayload = userPayload("SetUserRoles", "The user with the new roles.");
const ResetUserPasswordPayload = userPayload("ResetUserPassword", "The user with the new password.");

@ObjectType({ simpleResolvers: true, description: "The user deleted." })
class DeleteUserPayload {
  @Field(() => UserType, { description: "The user as it was." }) user!: UserRow;
}

@Resolver()
export class AccountsResolver {
  @Needs("user:create")
  @Mutation(() => CreateUserPayload, { description: "Creates a person or a service account." })
  async createUser(
    @Arg("input", () => CreateUserInput, { description: "The new user." }) input: CreateUser,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await createUser(ctx, input) };
  }

  @Needs("user:update")
  @ByArguments<{ input: UpdateUserInput }>(({ input }) => (input.email == null ? {} : { openTo: ["session"] }))
  @Mutation(() => UpdateUserPayload, {
    description: "Changes somebody's account. A change of the e-mail address takes a session.",
  })
  async updateUser(
    @Arg("input", () => UpdateUserInput, { description: "What to change." }) input: UpdateUserInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await updateUser(ctx, input) };
  }

  @Needs("user:update_personal")
  @Mutation(() => UpdateProfilePayload, { description: "Changes the caller's own account." })
  async updateProfile(
    @Arg("input", () => UpdateProfileInput, { description: "What to change." }) input: UpdateProfileInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await updateProfile(ctx, input) };
  }

  @Needs("user:update")
  @Mutation(() => SuspendUserPayload, { description: "Keeps somebody out: sessions and tokens end at once." })
  async suspendUser(
    @Arg("input", () => SuspendUserInput, { description: "Who." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await suspendUser(ctx, user) };
  }

  @Needs("user:update")
  @Mutation(() => ActivateUserPayload, { description: "Lets somebody in again, who has to sign in anew." })
  async activateUser(
    @Arg("input", () => ActivateUserInput, { description: "Who." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await activateUser(ctx, user) };
  }

  @Needs("user:delete")
  @Mutation(() => DeleteUserPayload, {
    description: "Deletes somebody for good. The e-mail and the username are free again.",
  })
  async deleteUser(
    @Arg("input", () => DeleteUserInput, { description: "Who." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ): Promise<DeleteUserPayload> {
    return { user: await deleteUser(ctx, user) };
  }

  @Needs("assign_role:assign", "assign_role:unassign")
  @Mutation(() => SetUserRolesPayload, { description: "Replaces the roles that somebody holds in the deployment." })
  async setUserRoles(
    @Arg("input", () => SetUserRolesInput, { description: "Whose roles." }) input: SetUserRolesInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await setUserRoles(ctx, input) };
  }

  @Needs("user:update")
  @OpenTo("session")
  @Mutation(() => ResetUserPasswordPayload, {
    description: "Gives somebody a new password. All sessions and tokens of the user end. Takes a session.",
  })
  async resetUserPassword(
    @Arg("input", () => ResetUserPasswordInput, { description: "Whose password." }) input: ResetUserPasswordInput,
    @Ctx() ctx: Context,
  ): Promise<UserPayload> {
    return { userId: await resetUserPassword(ctx, input) };
  }
}
