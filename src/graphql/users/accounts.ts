import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import type { Role } from "../../domain/kernel/actor.js";
import { LoginType, usersById } from "../../domain/users/users.js";
import {
  type AccountChange,
  deleteUser,
  resetUserPassword,
  updateProfile,
  updateUser,
} from "../../domain/users/accounts.js";
import { type CreateUser, createUser } from "../../domain/users/create-user.js";
import { activateUser, suspendUser } from "../../domain/users/suspension.js";
import { RoleName, setUserRoles } from "../../domain/users/user-roles.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { EmailAddress, Url, UUID } from "../engine/scalars.js";
import { UserType } from "./users.js";

@InputType({ description: "Input of `createUser`." })
class CreateUserInput implements CreateUser {
  @Access({ pasted: true })
  @Field(() => EmailAddress, { description: "Unique email address, case-insensitive." })
  email!: string;
  @Field({
    description: "Unique username, case-insensitive: at most 32 letters, digits, and single hyphens between them.",
  })
  username!: string;
  @Field({ nullable: true, description: "Real name, at most 128 characters. Default: empty." })
  name?: string;
  @Field(() => LoginType, {
    nullable: true,
    description: "How the user signs in. Default: NONE for service accounts, otherwise PASSWORD.",
  })
  loginType?: LoginType;
  @Field({
    nullable: true,
    description: "Password. Required if `loginType` is PASSWORD, which is the default, and rejected otherwise.",
  })
  password?: string;
  @Field(() => [UUID], {
    nullable: true,
    description: "IDs of the organizations to join, at least one. Default: the default organization.",
  })
  organizationIds?: string[];
  @Field({
    nullable: true,
    description: "Whether to create a service account. Cannot be changed later. Default: false.",
  })
  isServiceAccount?: boolean;
}

@InputType({ description: "Input of `updateUser`. Omitted fields keep their value." })
class UpdateUserInput implements AccountChange {
  @Field({ description: "The user: ID, username, or `me`." }) user!: string;
  @Access({ pasted: true })
  @Field(() => EmailAddress, { nullable: true, description: "New email address." })
  email?: string;
  @Field({ nullable: true, description: "New username." }) username?: string;
  @Field({ nullable: true, description: "New real name, at most 128 characters." }) name?: string;
  @Field(() => Url, { nullable: true, description: "New URL of the avatar; empty for none." }) avatarUrl?: string;
}

@InputType({ description: "Input of `updateProfile`. Omitted fields keep their value." })
class UpdateProfileInput implements AccountChange {
  @Field({ nullable: true, description: "New real name, at most 128 characters." }) name?: string;
  @Field(() => Url, { nullable: true, description: "New URL of the avatar; empty for none." }) avatarUrl?: string;
  @Field({ nullable: true, description: "New username." }) username?: string;
}

/** Builds the input type of mutations whose only argument is a user. */
function userInput(verb: string, description: string) {
  @InputType(`${verb}UserInput`, { description })
  class UserInput {
    @Field({ description: "The user: ID or username." }) user!: string;
  }
  return UserInput;
}

const SuspendUserInput = userInput("Suspend", "Input of `suspendUser`.");
const ActivateUserInput = userInput("Activate", "Input of `activateUser`.");
const DeleteUserInput = userInput("Delete", "Input of `deleteUser`.");

@InputType({ description: "Input of `setUserRoles`." })
class SetUserRolesInput {
  @Field({ description: "The user: ID, username, or `me`." }) user!: string;
  @Field(() => [RoleName], { description: "Replaces all roles held in the deployment." })
  roles!: Role[];
}

@InputType({ description: "Input of `resetUserPassword`." })
class ResetUserPasswordInput {
  @Field({ description: "The user: ID, username, or `me`." }) user!: string;
  @Field({ description: "The new password; weak passwords are rejected." })
  password!: string;
}

const changedUser = { user: { type: () => UserType, description: "The user after the change." } };

/** The payload of a mutation that changes a user, who is read if selected. */
const changed = (ctx: Context, id: string) => ({ user: () => ctx.load(usersById, id) });

@Resolver()
export class AccountsResolver {
  @Access({
    needs: ["user:create"],
    byArguments: ({ input }: { input: CreateUserInput }) =>
      input.password == null ? {} : { openTo: ["session", "token"] },
  })
  @Mutates("Creates a user or a service account. OAuth2 access tokens cannot set a password.", {
    user: { ...changedUser.user, covers: "everything" },
  })
  async createUser(
    @Arg("input", () => CreateUserInput, { description: "The new user." }) input: CreateUser,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await createUser(ctx, input));
  }

  @Access({
    needs: ["user:update"],
    byArguments: ({ input }: { input: UpdateUserInput }) => (input.email == null ? {} : { openTo: ["session"] }),
  })
  @Mutates("Updates a user's account. Changing the email address requires a session.", changedUser)
  async updateUser(@Arg("input", { description: "The changes." }) input: UpdateUserInput, @Ctx() ctx: Context) {
    return changed(ctx, await updateUser(ctx, input));
  }

  @Access({ needs: ["user:update_personal"] })
  @Mutates(
    "Updates the caller's own account.",
    { user: { ...changedUser.user, covers: "everything" } },
    "Payload of `updateProfile`, with the caller.",
  )
  async updateProfile(@Arg("input", { description: "The changes." }) input: UpdateProfileInput, @Ctx() ctx: Context) {
    return changed(ctx, await updateProfile(ctx, input));
  }

  @Access({ needs: ["user:update"] })
  @Mutates("Suspends a user and revokes the user's sessions and API keys immediately.", changedUser)
  async suspendUser(
    @Arg("input", () => SuspendUserInput, { description: "The user to suspend." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await suspendUser(ctx, user));
  }

  @Access({ needs: ["user:update"] })
  @Mutates("Reactivates a suspended user, who must sign in again.", changedUser)
  async activateUser(
    @Arg("input", () => ActivateUserInput, { description: "The user to reactivate." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await activateUser(ctx, user));
  }

  @Access({ needs: ["user:delete"] })
  @Mutates("Deletes a user permanently. The email address and username become available again.", {
    user: { type: () => UserType, description: "The deleted user." },
  })
  async deleteUser(
    @Arg("input", () => DeleteUserInput, { description: "The user to delete." }) { user }: { user: string },
    @Ctx() ctx: Context,
  ) {
    return { user: await deleteUser(ctx, user) };
  }

  @Access({ needs: ["assign_role:assign", "assign_role:unassign"], openTo: ["session", "token"] })
  @Mutates("Replaces the roles that a user holds in the deployment.", changedUser)
  async setUserRoles(
    @Arg("input", { description: "The user and the new roles." }) input: SetUserRolesInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await setUserRoles(ctx, input));
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Sets a new password for a user and revokes the user's sessions and API keys. Requires a session.",
    changedUser,
  )
  async resetUserPassword(
    @Arg("input", { description: "The user and the new password." })
    input: ResetUserPasswordInput,
    @Ctx() ctx: Context,
  ) {
    return changed(ctx, await resetUserPassword(ctx, input));
  }
}
