import { Arg, Args, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import {
  type AccessList,
  AclChange,
  type GroupEntry,
  groupRoleNotice,
  type UserEntry,
} from "../../domain/groups/access-lists.js";
import type { Context } from "../../domain/kernel/context.js";
import {
  AvailableQuery,
  findTemplateAcl,
  readTemplateAcl,
  templateAclAvailable,
  type TemplateAclAvailable,
  TemplateRole,
  updateTemplateAcl,
  UpdateTemplateAcl,
} from "../../domain/templates/acl.js";
import { invalidateTemplatePresets, type InvalidatedPreset } from "../../domain/templates/presets.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { UUID } from "../engine/scalars.js";
import { GroupType } from "../groups/groups.js";
import { UserConnection, UserType } from "../users/users.js";
import { argumentsOf, inputType } from "../engine/inputs.js";
import { NamedTemplate } from "../../domain/templates/templates.js";

enumType({ TemplateRole }, "A role in the access list of a template.", {
  USE: "Reads the template and creates workspaces from it.",
  ADMIN: "Does everything with the template, and changes its access list.",
});

@ObjectType("TemplateUserEntry", { simpleResolvers: true, description: "The role of a user in an access list." })
class TemplateUserEntryType implements UserEntry {
  @Access({ covers: "everything" })
  @Field(() => UserType, { description: "The user." })
  user!: UserEntry["user"];
  @Field(() => TemplateRole, { description: "The role." }) role!: UserEntry["role"];
}

@ObjectType("TemplateGroupEntry", { simpleResolvers: true, description: "The role of a group in an access list." })
class TemplateGroupEntryType implements GroupEntry {
  @Access({ covers: "everything" })
  @Field(() => GroupType, { description: "The group. `Everyone` has the ID of the organization." })
  group!: GroupEntry["group"];
  @Field(() => TemplateRole, { description: "The role, which all members of the group have." })
  role!: GroupEntry["role"];
}

@ObjectType("TemplateAcl", { simpleResolvers: true, description: "The access list of a template." })
class TemplateAclType implements AccessList {
  @Access({ countsAs: 100 })
  @Field(() => [TemplateUserEntryType], { description: "Entries of users, by username." })
  users!: UserEntry[];
  @Access({ countsAs: 100 })
  @Field(() => [TemplateGroupEntryType], { description: "Entries of groups, by name." })
  groups!: GroupEntry[];
}

@ObjectType("TemplateAclAvailable", {
  simpleResolvers: true,
  description: "The users and groups that entries can be added for.",
})
class TemplateAclAvailableType {
  @Access({ covers: "everything" })
  @Field(() => UserConnection, { description: "Members of the organization, by username." })
  users!: TemplateAclAvailable["users"];
  @Access({ covers: "everything", countsAs: 100 })
  @Field(() => [GroupType], { description: "Groups of the organization, `Everyone` included, by name." })
  groups!: TemplateAclAvailable["groups"];
}

const AvailableArgs = argumentsOf(AvailableQuery);

inputType("TemplateAclChangeInput", AclChange, {
  description: "A change of an entry of the access list of a template.",
  entryKey: "id",
});

const UpdateTemplateAclInput = inputType("UpdateTemplateAclInput", UpdateTemplateAcl, {
  description: "Input of `updateTemplateAcl`. At most 1000 entries together; others stay.",
});

const InvalidateTemplatePresetsInput = inputType("InvalidateTemplatePresetsInput", NamedTemplate);

@ObjectType("InvalidatedPreset", {
  simpleResolvers: true,
  description: "A preset whose prebuilt workspaces are replaced.",
})
class InvalidatedPresetType implements InvalidatedPreset {
  @Field({ description: "Name of the preset." }) presetName!: string;
  @Field({ description: "Name of the template." }) templateName!: string;
  @Field({ description: "Name of the active version." }) templateVersionName!: string;
}

@Resolver()
export class TemplateAclResolver {
  @Access({ needs: ["template:update"] })
  @Query(() => TemplateAclType, {
    nullable: true,
    description: "Returns the access list of a template. For callers who may update the template.",
  })
  templateAcl(
    @Arg("templateId", () => UUID, { description: "ID of the template." }) templateId: string,
    @Ctx() ctx: Context,
  ): Promise<AccessList> {
    return findTemplateAcl(ctx, templateId);
  }

  @Access({ needs: ["template:update"] })
  @Query(() => TemplateAclAvailableType, {
    nullable: true,
    description:
      "Lists the users and groups that entries of the access list of a template can be added for. For callers who may update the template. Pages of users have 1000 by default.",
  })
  templateAclAvailable(
    @Args(() => AvailableArgs) args: AvailableQuery,
    @Ctx() ctx: Context,
  ): Promise<TemplateAclAvailable> {
    return templateAclAvailable(ctx, args);
  }

  @Access({ needs: ["template:update"] })
  @Mutates(`Changes entries of the access list of a template. ${groupRoleNotice}`, {
    templateAcl: {
      type: () => TemplateAclType,
      description: "The access list after the change.",
      covers: "everything",
    },
  })
  async updateTemplateAcl(
    @Arg("input", () => UpdateTemplateAclInput, { description: "The changes." }) input: UpdateTemplateAcl,
    @Ctx() ctx: Context,
  ) {
    const id = await updateTemplateAcl(ctx, input);
    return { templateAcl: () => readTemplateAcl(ctx, id) };
  }

  @Access({ needs: ["template:update"] })
  @Mutates(
    "Replaces the prebuilt workspaces of all presets of the active version of a template. Claimed ones are not affected.",
    {
      invalidated: {
        type: () => [InvalidatedPresetType],
        description: "All presets of the active version, by name.",
        countsAs: 10,
      },
    },
  )
  async invalidateTemplatePresets(
    @Arg("input", () => InvalidateTemplatePresetsInput, { description: "The template." })
    { templateId }: NamedTemplate,
    @Ctx() ctx: Context,
  ) {
    return { invalidated: await invalidateTemplatePresets(ctx, templateId) };
  }
}
