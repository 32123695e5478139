import { Arg, Ctx, Field, InputType, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type CreateUserSecret,
  createUserSecret,
  deleteUserSecret,
  listUserSecrets,
  readUserSecret,
  readUserSecretUsage,
  type SecretReference,
  type UpdateUserSecret,
  updateUserSecret,
  type UserSecretRow,
  type UserSecretUsage,
} from "../domain/user-secrets/user-secrets.js";
import { Access } from "./engine/access.js";
import { Mutates } from "./engine/declarations.js";
import { DateTime, UUID } from "./engine/scalars.js";

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

const whose = "The user: ID, username, or `me`.";
const envNameRule =
  "Environment variable to set to the value: letters, digits, and underscores, except reserved names; empty for none.";
const filePathRule =
  "File to write the value to: a path that begins with `~/` or `/`, and is not the file of another secret or a directory of its path; empty for none.";

@InputType({ description: "Input of `createUserSecret`." })
class CreateUserSecretInput implements CreateUserSecret {
  @Field({ defaultValue: "me", description: whose }) user!: string;
  @Field({
    description: "Name, unique among the user's secrets: 1 to 255 bytes without `/`, `?`, and `#`.",
  })
  name!: string;
  @Field({ description: "The value, 1 to 24576 bytes, stored unchanged." })
  value!: string;
  @Field({ nullable: true, description: "Free text, at most 1024 characters. Default: empty." })
  description?: string;
  @Field({ nullable: true, description: `${envNameRule} Default: empty.` }) envName?: string;
  @Field({ nullable: true, description: `${filePathRule} Default: empty.` }) filePath?: string;
}

@InputType({ description: "Input of `updateUserSecret`, with at least one change. Omitted fields keep their value." })
class UpdateUserSecretInput implements UpdateUserSecret {
  @Field({ defaultValue: "me", description: whose }) user!: string;
  @Field({ description: "Exact name of the secret." }) name!: string;
  @Field({ nullable: true, description: "The new value, 1 to 24576 bytes, stored unchanged." })
  value?: string;
  @Field({ nullable: true, description: "Free text, at most 1024 characters." }) description?: string;
  @Field({ nullable: true, description: envNameRule }) envName?: string;
  @Field({ nullable: true, description: filePathRule }) filePath?: string;
}

@InputType({ description: "Input of `deleteUserSecret`." })
class DeleteUserSecretInput implements SecretReference {
  @Field({ defaultValue: "me", description: whose }) user!: string;
  @Field({ description: "Exact name of the secret." }) name!: string;
}

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
    @Arg("input", { description: "The new secret." }) input: CreateUserSecretInput,
    @Ctx() ctx: Context,
  ) {
    return { userSecret: await createUserSecret(ctx, input) };
  }

  @Access({ needs: ["user_secret:update"] })
  @Mutates("Updates a secret of the caller. Running workspaces keep the old value until they restart.", { userSecret })
  async updateUserSecret(
    @Arg("input", { description: "The changes." }) input: UpdateUserSecretInput,
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
    @Arg("input", { description: "The secret to delete." }) input: DeleteUserSecretInput,
    @Ctx() ctx: Context,
  ) {
    return { userSecret: await deleteUserSecret(ctx, input) };
  }
}
