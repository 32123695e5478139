import { Arg, Ctx, Field, InputType, Mutation, ObjectType, Resolver, Root } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type BulkResult, runScimBulk } from "../../domain/scim/bulk.js";
import { createScimGroup, deleteScimGroup, patchScimGroup, replaceScimGroup } from "../../domain/scim/groups.js";
import type { ScimResource } from "../../domain/scim/resources.js";
import {
  createScimUser,
  deleteScimUser,
  patchScimUser,
  replaceScimUser,
  type ScimChange,
} from "../../domain/scim/users.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { bulkDocument } from "./failures.js";
import { Access } from "../engine/access.js";
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

/** Builds the payload type of a mutation that leaves a resource behind. */
function resourcePayload(verb: string) {
  @ObjectType(`${verb}Payload`, { description: `Payload of \`${verb[0]!.toLowerCase()}${verb.slice(1)}\`.` })
  class Payload {
    @Field(() => ScimResourceType, { simple: true, description: "The resource after the change." })
    resource!: ScimResource;
  }
  return Payload;
}

const CreateScimUserPayload = resourcePayload("CreateScimUser");
const ReplaceScimUserPayload = resourcePayload("ReplaceScimUser");
const PatchScimUserPayload = resourcePayload("PatchScimUser");
const CreateScimGroupPayload = resourcePayload("CreateScimGroup");
const ReplaceScimGroupPayload = resourcePayload("ReplaceScimGroup");
const PatchScimGroupPayload = resourcePayload("PatchScimGroup");

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteScimUser`." })
class DeleteScimUserPayload {
  @Field(() => UUID, { description: "ID of the user, who is suspended and hidden from the source." }) id!: string;
}

@ObjectType({ simpleResolvers: true, description: "Payload of `deleteScimGroup`." })
class DeleteScimGroupPayload {
  @Field(() => UUID, { description: "ID of the deleted group." }) id!: string;
}

@ObjectType({ description: "Payload of `runScimBulk`." })
class RunScimBulkPayload {
  results!: BulkResult[];

  @Field(() => JSONObject, { description: "The results of the operations that were run: a BulkResponse." })
  document(@Root() { results }: RunScimBulkPayload, @Ctx() ctx: Context): Document {
    return bulkDocument(ctx, results);
  }
}

@Resolver()
export class ScimChangesResolver {
  @Access(forProvisioning)
  @Mutation(() => CreateScimUserPayload, {
    description:
      "Creates a user, or revives one that the source deleted. The user signs in as `STEWARD_SCIM_LOGIN_TYPE` says.",
  })
  async createScimUser(
    @Arg("input", { description: "The new user." }) input: CreateScimUserInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "User", ...(await createScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => ReplaceScimUserPayload, {
    description: "Replaces a user. Absent attributes are cleared, except `userName`, `emails` and `active`.",
  })
  async replaceScimUser(
    @Arg("input", { description: "The user." }) input: ReplaceScimUserInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "User", ...(await replaceScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => PatchScimUserPayload, { description: "Changes attributes of a user: by all operations, or none." })
  async patchScimUser(
    @Arg("input", { description: "The operations." }) input: PatchScimUserInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "User", ...(await patchScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => DeleteScimUserPayload, {
    description:
      "Suspends a user, removes it from its groups, and hides it from the source. The account stays for administrators. A user who also belongs to organizations that are not those of the key leaves those of the key instead.",
  })
  async deleteScimUser(
    @Arg("input", { description: "The user." }) input: DeleteScimUserInput,
    @Ctx() ctx: Context,
  ): Promise<{ id: string }> {
    return { id: await deleteScimUser(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutation(() => CreateScimGroupPayload, {
    description: "Creates a group in the first organization of the caller. Members join the organization.",
  })
  async createScimGroup(
    @Arg("input", { description: "The new group." }) input: CreateScimGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "Group", ...(await createScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => ReplaceScimGroupPayload, { description: "Replaces a group and its members." })
  async replaceScimGroup(
    @Arg("input", { description: "The group." }) input: ReplaceScimGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "Group", ...(await replaceScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => PatchScimGroupPayload, {
    description: "Changes a group and its members: by all operations, or none.",
  })
  async patchScimGroup(
    @Arg("input", { description: "The operations." }) input: PatchScimGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ resource: ScimResource }> {
    return { resource: { kind: "Group", ...(await patchScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutation(() => DeleteScimGroupPayload, { description: "Deletes a group with its memberships." })
  async deleteScimGroup(
    @Arg("input", { description: "The group." }) input: DeleteScimGroupInput,
    @Ctx() ctx: Context,
  ): Promise<{ id: string }> {
    return { id: await deleteScimGroup(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutation(() => RunScimBulkPayload, {
    description: "Runs operations on users and groups in order, each in a transaction of its own.",
  })
  async runScimBulk(
    @Arg("input", { description: "The operations." }) input: RunScimBulkInput,
    @Ctx() ctx: Context,
  ): Promise<{ results: BulkResult[] }> {
    return { results: await runScimBulk(ctx, input) };
  }
}
