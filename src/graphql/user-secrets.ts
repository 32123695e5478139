import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  createUserSecret,
  CreateUserSecret,
  deleteUserSecret,
  DeleteUserSecret,
  listUserSecrets,
  readUserSecret,
  readUserSecretUsage,
  updateUserSecret,
  UpdateUserSecret,
  type UserSecretRow,
  type UserSecretUsage,
  whose,
} from "../domain/user-secrets/user-secrets.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { DateTime, UUID } from "./engine/scalars.js";
import { inputType } from "./engine/inputs.js";

@Access({ readWith: "user_secret:read", references: ["id", "name"] })
@ObjectType("UserSecret", {
  simpleResolvers: true,
  description:
    "A named value that a user stores for their workspaces. The API never returns the value. Workspaces receive it when they start, and anyone with access to a workspace can read it there.",
})
export class UserSecretType implements UserSecretRow {
  @Field(() => UUID, { description: "Unique ID." }) id!: string;
  @Field({ description: "Name, unique among the user's secrets; never changes." }) name!: string;
  @Field({ description: "Free text; may be empty." }) description!: string;
  @Field({ description: "Environment variable that is set to the value; empty if none." })
  envName!: string;
  @Field({ description: "File that the value is written to; empty if none." }) filePath!: string;
  @Field(() => DateTime, { nullable: true, description: "When a workspace last received the value; null if none has." })
  lastDeliveredAt!: string | null;
  @Field(() => DateTime, { description: "When the secret was created." }) createdAt!: string;
  @Field(() => DateTime, { description: "When the secret was last updated." }) updatedAt!: string;
}

@Access({ readWith: "user_secret:read" })
@ObjectType("UserSecretUsage", {
  simpleResolvers: true,
  description: "Storage used by a user's secrets, and its limits.",
})
class UserSecretUsageType implements UserSecretUsage {
  @Field(() => Int, { description: "Number of secrets." }) count!: number;
  @Field(() => Int, { description: "Total size of all values, in bytes." }) valueBytes!: number;
  @Field(() => Int, { description: "Total size of the values set as environment variables, in bytes." })
  envBytes!: number;
  @Field(() => Int, { description: "Maximum number of secrets." }) maxCount!: number;
  @Field(() => Int, { description: "Maximum total size of all values, in bytes." }) maxValueBytes!: number;
  @Field(() => Int, { description: "Maximum total size of the values set as environment variables, in bytes." })
  maxEnvBytes!: number;
}

const CreateUserSecretInput = inputType("CreateUserSecretInput", CreateUserSecret);

const UpdateUserSecretInput = inputType("UpdateUserSecretInput", UpdateUserSecret, {
  description: "Input of `updateUserSecret`, with at least one change. Omitted fields keep their value.",
});

const DeleteUserSecretInput = inputType("DeleteUserSecretInput", DeleteUserSecret);

const userSecret = { type: () => UserSecretType, description: "The secret, without its value." };

@Resolver()
export class UserSecretsResolver {
  @Access({ needs: ["user_secret:read"] })
  @Query(() => [UserSecretType], { description: "Lists the caller's secrets by name, in byte order." })
  userSecrets(
    @Arg("user", { defaultValue: "me", description: whose }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretRow[]> {
    return listUserSecrets(ctx, user);
  }

  @Access({ needs: ["user_secret:read"] })
  @Query(() => UserSecretType, { nullable: true, description: "Returns one of the caller's secrets." })
  userSecret(
    @Arg("user", { defaultValue: "me", description: whose }) user: string,
    @Arg("name", { description: "Exact name of the secret." }) name: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretRow> {
    return readUserSecret(ctx, { user, name });
  }

  @Access({ needs: ["user_secret:read"] })
  @Query(() => UserSecretUsageType, {
    nullable: true,
    description: "Returns the storage used by the caller's secrets, and its limits.",
  })
  userSecretUsage(
    @Arg("user", { defaultValue: "me", description: whose }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretUsage> {
    return readUserSecretUsage(ctx, user);
  }

  @Access({ needs: ["user_secret:create"] })
  @Mutates("Creates a secret of the caller.", { userSecret: { ...userSecret, covers: "everything" } })
  async createUserSecret(
    @Arg("input", () => CreateUserSecretInput, { description: "The new secret." }) input: CreateUserSecret,
    @Ctx() ctx: Context,
  ) {
    return { userSecret: await createUserSecret(ctx, input) };
  }

  @Access({ needs: ["user_secret:update"] })
  @Mutates("Updates a secret of the caller. Running workspaces keep the old value until they restart.", { userSecret })
  async updateUserSecret(
    @Arg("input", () => UpdateUserSecretInput, { description: "The changes." }) input: UpdateUserSecret,
    @Ctx() ctx: Context,
  ) {
    return { userSecret: await updateUserSecret(ctx, input) };
  }

  @Access({ needs: ["user_secret:delete"] })
  @Mutates(
    "Deletes a secret of the caller. Running workspaces keep the value until they restart.",
    { userSecret },
    "Payload of `deleteUserSecret`, with the deleted secret.",
  )
  async deleteUserSecret(
    @Arg("input", () => DeleteUserSecretInput, { description: "The secret to delete." }) input: DeleteUserSecret,
    @Ctx() ctx: Context,
  ) {
    return { userSecret: await deleteUserSecret(ctx, input) };
  }
}
