import { Arg, Ctx, Field, InputType, Int, Mutation, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type CreateUserSecret,
  createUserSecret,
  deleteUserSecret,
  listUserSecrets,
  readUserSecret,
  type SecretReference,
  type UpdateUserSecret,
  updateUserSecret,
  type UserSecretRow,
} from "../domain/user-secrets/user-secrets.js";
import { readUserSecretUsage, type UserSecretUsage } from "../domain/user-secrets/usage.js";
import { Covers, Needs, ReadWith } from "./engine/access.js";
import { DateTime, UUID } from "./engine/scalars.js";

@ReadWith("user_secret:read", "id", "name")
@ObjectType("UserSecret", {
  simpleResolvers: true,
  description:
    "A named value that a user stores for the workspaces that the user owns. Nobody can read the value here; it is handed to a workspace at its start, and whoever may enter that workspace can read it there.",
})
export class UserSecretType implements UserSecretRow {
  @Field(() => UUID, { description: "Unique id." }) id!: string;
  @Field(() => String, { description: "Unique among the user's secrets; never changes." }) name!: string;
  @Field(() => String, { description: "Free text; may be empty." }) description!: string;
  @Field(() => String, { description: "The environment variable that gets the value; empty for none." })
  envName!: string;
  @Field(() => String, { description: "The file that gets the value; empty for none." }) filePath!: string;
  @Field(() => DateTime, { nullable: true, description: "When a workspace last received the value." })
  lastDeliveredAt!: string | null;
  @Field(() => DateTime, { description: "When it was stored." }) createdAt!: string;
  @Field(() => DateTime, { description: "When it was last changed." }) updatedAt!: string;
}

@ReadWith("user_secret:read")
@ObjectType("UserSecretUsage", {
  simpleResolvers: true,
  description: "How much a user has stored as secrets, and how much that may be.",
})
class UserSecretUsageType implements UserSecretUsage {
  @Field(() => Int, { description: "Secrets." }) count!: number;
  @Field(() => Int, { description: "Bytes of all values." }) valueBytes!: number;
  @Field(() => Int, { description: "Bytes of the values that become environment variables." }) envBytes!: number;
  @Field(() => Int, { description: "Most secrets." }) maxCount!: number;
  @Field(() => Int, { description: "Most bytes of all values." }) maxValueBytes!: number;
  @Field(() => Int, { description: "Most bytes of the values that become environment variables." })
  maxEnvBytes!: number;
}

const whose = "Id, username or `me`.";
const envNameRule = "Letters, digits and underscores, and no reserved name; empty for none.";
const filePathRule = "A path that begins with `~/` or `/`; empty for none.";

@InputType({ description: "A secret to be stored." })
class CreateUserSecretInput implements CreateUserSecret {
  @Field(() => String, { defaultValue: "me", description: whose }) user!: string;
  @Field(() => String, { nullable: true, description: "Required. 1 to 255 bytes without `/`, `?` and `#`." })
  name?: string;
  @Field(() => String, { nullable: true, description: "Required. 1 to 24576 bytes, stored as they are." })
  value?: string;
  @Field(() => String, { nullable: true, description: "At most 1024 characters. Default: empty." })
  description?: string;
  @Field(() => String, { nullable: true, description: `${envNameRule} Default: empty.` }) envName?: string;
  @Field(() => String, { nullable: true, description: `${filePathRule} Default: empty.` }) filePath?: string;
}

@InputType({ description: "Changes of a secret, at least one. What is absent stays." })
class UpdateUserSecretInput implements UpdateUserSecret {
  @Field(() => String, { defaultValue: "me", description: whose }) user!: string;
  @Field(() => String, { description: "Its exact name." }) name!: string;
  @Field(() => String, { nullable: true, description: "1 to 24576 bytes, stored as they are." }) value?: string;
  @Field(() => String, { nullable: true, description: "At most 1024 characters." }) description?: string;
  @Field(() => String, { nullable: true, description: envNameRule }) envName?: string;
  @Field(() => String, { nullable: true, description: filePathRule }) filePath?: string;
}

@InputType({ description: "A secret to be deleted." })
class DeleteUserSecretInput implements SecretReference {
  @Field(() => String, { defaultValue: "me", description: whose }) user!: string;
  @Field(() => String, { description: "Its exact name." }) name!: string;
}

/** The payload of a verb: the secret as the verb left it, or found it. */
function secretPayload(verb: string, description: string, scopes: PropertyDecorator = Needs()) {
  @ObjectType(`${verb}UserSecretPayload`, { simpleResolvers: true, description })
  class Payload implements SecretPayload {
    @scopes
    @Field(() => UserSecretType, { description: "The secret without its value." })
    userSecret!: UserSecretRow;
  }
  return Payload;
}

interface SecretPayload {
  userSecret: UserSecretRow;
}

const CreateUserSecretPayload = secretPayload("Create", "A stored secret.", Covers());
const UpdateUserSecretPayload = secretPayload("Update", "A changed secret.");
const DeleteUserSecretPayload = secretPayload("Delete", "A deleted secret, as it was.");

@Resolver()
export class UserSecretsResolver {
  @Needs("user_secret:read")
  @Query(() => [UserSecretType], { description: "The secrets of the caller, by name in byte order." })
  userSecrets(
    @Arg("user", () => String, { defaultValue: "me", description: whose }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretRow[]> {
    return listUserSecrets(ctx, user);
  }

  @Needs("user_secret:read")
  @Query(() => UserSecretType, { description: "One secret of the caller." })
  userSecret(
    @Arg("user", () => String, { defaultValue: "me", description: whose }) user: string,
    @Arg("name", () => String, { description: "Its exact name." }) name: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretRow> {
    return readUserSecret(ctx, { user, name });
  }

  @Needs("user_secret:read")
  @Query(() => UserSecretUsageType, { description: "How much the caller has stored, and how much that may be." })
  userSecretUsage(
    @Arg("user", () => String, { defaultValue: "me", description: whose }) user: string,
    @Ctx() ctx: Context,
  ): Promise<UserSecretUsage> {
    return readUserSecretUsage(ctx, user);
  }

  @Needs("user_secret:create")
  @Mutation(() => CreateUserSecretPayload, { description: "Stores a secret of the caller." })
  async createUserSecret(
    @Arg("input", () => CreateUserSecretInput, { description: "The secret." }) input: CreateUserSecretInput,
    @Ctx() ctx: Context,
  ): Promise<SecretPayload> {
    return { userSecret: await createUserSecret(ctx, input) };
  }

  @Needs("user_secret:update")
  @Mutation(() => UpdateUserSecretPayload, {
    description: "Changes a secret of the caller. Running workspaces keep what they have until their next start.",
  })
  async updateUserSecret(
    @Arg("input", () => UpdateUserSecretInput, { description: "What to change." }) input: UpdateUserSecretInput,
    @Ctx() ctx: Context,
  ): Promise<SecretPayload> {
    return { userSecret: await updateUserSecret(ctx, input) };
  }

  @Needs("user_secret:delete")
  @Mutation(() => DeleteUserSecretPayload, {
    description: "Deletes a secret of the caller. Running workspaces keep what they have.",
  })
  async deleteUserSecret(
    @Arg("input", () => DeleteUserSecretInput, { description: "Which one." }) input: DeleteUserSecretInput,
    @Ctx() ctx: Context,
  ): Promise<SecretPayload> {
    return { userSecret: await deleteUserSecret(ctx, input) };
  }
}
