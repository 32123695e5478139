import { Arg, Ctx, Field, InputType, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { runScimBulk } from "../../domain/scim/bulk.js";
import { createScimGroup, deleteScimGroup, patchScimGroup, replaceScimGroup } from "../../domain/scim/scim-groups.js";
import {
  createScimUser,
  deleteScimUser,
  patchScimUser,
  replaceScimUser,
  type ScimChange,
} from "../../domain/scim/scim-users.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { bulkDocument } from "./scim-failures.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { forProvisioning, ScimResourceType } from "./resources.js";

type Document = Record<string, unknown>;

const ifMatchNote =
  "Versions that the resource may have, ETags separated by commas, or `*`; for any other one, CONFLICT with `precondition`.";

@InputType()
abstract class CreateInput {
  @Field(() => JSONObject, { description: "The resource in SCIM form (RFC 7643)." }) document!: Document;
}

@InputType()
abstract class ChangeInput implements ScimChange {
  @Field({ description: "ID of the resource." }) id!: string;
  @Field(() => JSONObject, { description: "The resource in SCIM form, or a PatchOp (RFC 7644, section 3.5.2)." })
  document!: Document;
  @Field({ nullable: true, description: ifMatchNote }) ifMatch?: string;
}

@InputType()
abstract class DeleteInput {
  @Field({ description: "ID of the resource." }) id!: string;
  @Field({ nullable: true, description: ifMatchNote }) ifMatch?: string;
}

@InputType({ description: "Input of `createScimUser`." })
class CreateScimUserInput extends CreateInput {
  @Field({
    nullable: true,
    description: "Whether to update the user who has the externalId or the email, if there is one. Default: false.",
  })
  upsert?: boolean;
}

@InputType({ description: "Input of `replaceScimUser`." })
class ReplaceScimUserInput extends ChangeInput {}

@InputType({ description: "Input of `patchScimUser`." })
class PatchScimUserInput extends ChangeInput {
  @Field({
    nullable: true,
    description:
      "Whether the document may be a user instead, whose attributes replace those of the user. Default: false.",
  })
  merge?: boolean;
}

@InputType({ description: "Input of `deleteScimUser`." })
class DeleteScimUserInput extends DeleteInput {}

@InputType({ description: "Input of `createScimGroup`." })
class CreateScimGroupInput extends CreateInput {}

@InputType({ description: "Input of `replaceScimGroup`." })
class ReplaceScimGroupInput extends ChangeInput {}

@InputType({ description: "Input of `patchScimGroup`." })
class PatchScimGroupInput extends ChangeInput {}

@InputType({ description: "Input of `deleteScimGroup`." })
class DeleteScimGroupInput extends DeleteInput {}

@InputType({ description: "Input of `runScimBulk`." })
class RunScimBulkInput {
  @Field(() => JSONObject, { description: "A BulkRequest (RFC 7644, section 3.7)." }) document!: Document;
}

const changed = { resource: { type: () => ScimResourceType, description: "The resource after the change." } };

@Resolver()
export class ScimChangesResolver {
  @Access(forProvisioning)
  @Mutates(
    "Creates a user, or revives one that the source deleted. The user signs in as `STEWARD_SCIM_LOGIN_TYPE` says.",
    changed,
  )
  async createScimUser(
    @Arg("input", { description: "The new user." }) input: CreateScimUserInput,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "User", ...(await createScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Replaces a user. Absent attributes are cleared, except `userName`, `emails` and `active`.", changed)
  async replaceScimUser(@Arg("input", { description: "The user." }) input: ReplaceScimUserInput, @Ctx() ctx: Context) {
    return { resource: { kind: "User", ...(await replaceScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Changes attributes of a user: by all operations, or none.", changed)
  async patchScimUser(
    @Arg("input", { description: "The operations." }) input: PatchScimUserInput,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "User", ...(await patchScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates(
    "Suspends a user, removes it from its groups, and hides it from the source. The account stays for administrators. A user who also belongs to organizations that are not those of the key leaves those of the key instead.",
    {
      id: { type: () => UUID, description: "ID of the user, who is suspended and hidden from the source." },
    },
  )
  async deleteScimUser(@Arg("input", { description: "The user." }) input: DeleteScimUserInput, @Ctx() ctx: Context) {
    return { id: await deleteScimUser(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutates("Creates a group in the first organization of the caller. Members join the organization.", changed)
  async createScimGroup(
    @Arg("input", { description: "The new group." }) input: CreateScimGroupInput,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await createScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Replaces a group and its members.", changed)
  async replaceScimGroup(
    @Arg("input", { description: "The group." }) input: ReplaceScimGroupInput,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await replaceScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Changes a group and its members: by all operations, or none.", changed)
  async patchScimGroup(
    @Arg("input", { description: "The operations." }) input: PatchScimGroupInput,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await patchScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Deletes a group with its memberships.", {
    id: { type: () => UUID, description: "ID of the deleted group." },
  })
  async deleteScimGroup(@Arg("input", { description: "The group." }) input: DeleteScimGroupInput, @Ctx() ctx: Context) {
    return { id: await deleteScimGroup(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutates("Runs operations on users and groups in order, each in a transaction of its own.", {
    document: { type: () => JSONObject, description: "The results of the operations that were run: a BulkResponse." },
  })
  async runScimBulk(@Arg("input", { description: "The operations." }) input: RunScimBulkInput, @Ctx() ctx: Context) {
    return { document: bulkDocument(ctx, await runScimBulk(ctx, input)) };
  }
}
