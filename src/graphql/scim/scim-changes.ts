import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { RunScimBulk, runScimBulk } from "../../domain/scim/bulk.js";
import { createScimGroup, deleteScimGroup, patchScimGroup, replaceScimGroup } from "../../domain/scim/scim-groups.js";
import {
  createScimUser,
  CreateScimUser,
  deleteScimUser,
  patchScimUser,
  PatchScimUser,
  replaceScimUser,
  ScimChange,
  ScimCreation,
  ScimDeletion,
} from "../../domain/scim/scim-users.js";
import { JSONObject, UUID } from "../engine/scalars.js";
import { bulkDocument } from "./scim-failures.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";
import { forProvisioning, ScimResourceType } from "./resources.js";

const CreateScimUserInput = inputType("CreateScimUserInput", CreateScimUser);
const ReplaceScimUserInput = inputType("ReplaceScimUserInput", ScimChange);
const PatchScimUserInput = inputType("PatchScimUserInput", PatchScimUser);
const DeleteScimUserInput = inputType("DeleteScimUserInput", ScimDeletion);
const CreateScimGroupInput = inputType("CreateScimGroupInput", ScimCreation);
const ReplaceScimGroupInput = inputType("ReplaceScimGroupInput", ScimChange);
const PatchScimGroupInput = inputType("PatchScimGroupInput", ScimChange);
const DeleteScimGroupInput = inputType("DeleteScimGroupInput", ScimDeletion);
const RunScimBulkInput = inputType("RunScimBulkInput", RunScimBulk);

const changed = { resource: { type: () => ScimResourceType, description: "The resource after the change." } };

@Resolver()
export class ScimChangesResolver {
  @Access(forProvisioning)
  @Mutates(
    "Creates a user, or revives one that the source deleted. The user signs in as `STEWARD_SCIM_LOGIN_TYPE` says.",
    changed,
  )
  async createScimUser(
    @Arg("input", () => CreateScimUserInput, { description: "The new user." }) input: CreateScimUser,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "User", ...(await createScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Replaces a user. Absent attributes are cleared, except `userName`, `emails` and `active`.", changed)
  async replaceScimUser(
    @Arg("input", () => ReplaceScimUserInput, { description: "The user." }) input: ScimChange,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "User", ...(await replaceScimUser(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Changes attributes of a user: by all operations, or none.", changed)
  async patchScimUser(
    @Arg("input", () => PatchScimUserInput, { description: "The operations." }) input: PatchScimUser,
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
  async deleteScimUser(
    @Arg("input", () => DeleteScimUserInput, { description: "The user." }) input: ScimDeletion,
    @Ctx() ctx: Context,
  ) {
    return { id: await deleteScimUser(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutates("Creates a group in the first organization of the caller. Members join the organization.", changed)
  async createScimGroup(
    @Arg("input", () => CreateScimGroupInput, { description: "The new group." }) input: ScimCreation,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await createScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Replaces a group and its members.", changed)
  async replaceScimGroup(
    @Arg("input", () => ReplaceScimGroupInput, { description: "The group." }) input: ScimChange,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await replaceScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Changes a group and its members: by all operations, or none.", changed)
  async patchScimGroup(
    @Arg("input", () => PatchScimGroupInput, { description: "The operations." }) input: ScimChange,
    @Ctx() ctx: Context,
  ) {
    return { resource: { kind: "Group", ...(await patchScimGroup(ctx, input)) } };
  }

  @Access(forProvisioning)
  @Mutates("Deletes a group with its memberships.", {
    id: { type: () => UUID, description: "ID of the deleted group." },
  })
  async deleteScimGroup(
    @Arg("input", () => DeleteScimGroupInput, { description: "The group." }) input: ScimDeletion,
    @Ctx() ctx: Context,
  ) {
    return { id: await deleteScimGroup(ctx, input) };
  }

  @Access(forProvisioning)
  @Mutates("Runs operations on users and groups in order, each in a transaction of its own.", {
    document: { type: () => JSONObject, description: "The results of the operations that were run: a BulkResponse." },
  })
  async runScimBulk(
    @Arg("input", () => RunScimBulkInput, { description: "The operations." }) input: RunScimBulk,
    @Ctx() ctx: Context,
  ) {
    return { document: bulkDocument(ctx, await runScimBulk(ctx, input)) };
  }
}
