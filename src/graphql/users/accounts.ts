import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { usersById } from "../../domain/users/users.js";
import {
  deleteUser,
  NamedUser,
  resetUserPassword,
  ResetUserPassword,
  updateProfile,
  UpdateProfile,
  updateUser,
  UpdateUser,
} from "../../domain/users/accounts.js";
import { createUser, CreateUser } from "../../domain/users/create-user.js";
import { activateUser, suspendUser } from "../../domain/users/suspension.js";
import { setUserRoles, SetUserRoles } from "../../domain/users/user-roles.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { UserType } from "./users.js";

const CreateUserInput = inputType("CreateUserInput", CreateUser);

const UpdateUserInput = inputType("UpdateUserInput", UpdateUser, {
  description: "Input of `updateUser`. Omitted fields keep their value.",
});

const UpdateProfileInput = inputType("UpdateProfileInput", UpdateProfile, {
  description: "Input of `updateProfile`. Omitted fields keep their value.",
});

const SuspendUserInput = inputType("SuspendUserInput", NamedUser);
const ActivateUserInput = inputType("ActivateUserInput", NamedUser);
const DeleteUserInput = inputType("DeleteUserInput", NamedUser);

const SetUserRolesInput = inputType("SetUserRolesInput", SetUserRoles);

const ResetUserPasswordInput = inputType("ResetUserPasswordInput", ResetUserPassword);

const changedUser = { user: { type: () => UserType, description: "The user after the change." } };

/** The payload of a mutation that changes a user, who is read if selected. */
const readChangedUser = (ctx: Context, id: string) => ({ user: () => ctx.load(usersById, id) });

@Resolver()
export class AccountsResolver {
  @Access({
    needs: ["user:create"],
    byArguments: ({ input }: { input: CreateUser }) => (input.password == null ? {} : { openTo: ["session", "token"] }),
  })
  @Mutates("Creates a user or a service account. OAuth2 access tokens cannot set a password.", {
    user: { ...changedUser.user, covers: "everything" },
  })
  async createUser(
    @Arg("input", () => CreateUserInput, { description: "The new user." }) input: CreateUser,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await createUser(ctx, input));
  }

  @Access({
    needs: ["user:update"],
    byArguments: ({ input }: { input: UpdateUser }) => (input.email == null ? {} : { openTo: ["session"] }),
  })
  @Mutates("Updates a user's account. Changing the email address requires a session.", changedUser)
  async updateUser(
    @Arg("input", () => UpdateUserInput, { description: "The changes." }) input: UpdateUser,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await updateUser(ctx, input));
  }

  @Access({ needs: ["user:update_personal"] })
  @Mutates(
    "Updates the caller's own account.",
    { user: { ...changedUser.user, covers: "everything" } },
    "Payload of `updateProfile`, with the caller.",
  )
  async updateProfile(
    @Arg("input", () => UpdateProfileInput, { description: "The changes." }) input: UpdateProfile,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await updateProfile(ctx, input));
  }

  @Access({ needs: ["user:update"] })
  @Mutates("Suspends a user and revokes the user's sessions and API keys immediately.", changedUser)
  async suspendUser(
    @Arg("input", () => SuspendUserInput, { description: "The user to suspend." }) { user }: NamedUser,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await suspendUser(ctx, user));
  }

  @Access({ needs: ["user:update"] })
  @Mutates("Reactivates a suspended user, who must sign in again.", changedUser)
  async activateUser(
    @Arg("input", () => ActivateUserInput, { description: "The user to reactivate." }) { user }: NamedUser,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await activateUser(ctx, user));
  }

  @Access({ needs: ["user:delete"] })
  @Mutates("Deletes a user permanently. The email address and username become available again.", {
    user: { type: () => UserType, description: "The deleted user." },
  })
  async deleteUser(
    @Arg("input", () => DeleteUserInput, { description: "The user to delete." }) { user }: NamedUser,
    @Ctx() ctx: Context,
  ) {
    return { user: await deleteUser(ctx, user) };
  }

  @Access({ needs: ["assign_role:assign", "assign_role:unassign"], openTo: ["session", "token"] })
  @Mutates("Replaces the roles that a user holds in the deployment.", changedUser)
  async setUserRoles(
    @Arg("input", () => SetUserRolesInput, { description: "The user and the new roles." }) input: SetUserRoles,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await setUserRoles(ctx, input));
  }

  @Access({ needs: ["user:update"], openTo: ["session"] })
  @Mutates(
    "Sets a new password for a user and revokes the user's sessions and API keys. Requires a session.",
    changedUser,
  )
  async resetUserPassword(
    @Arg("input", () => ResetUserPasswordInput, { description: "The user and the new password." })
    input: ResetUserPassword,
    @Ctx() ctx: Context,
  ) {
    return readChangedUser(ctx, await resetUserPassword(ctx, input));
  }
}
