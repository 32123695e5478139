import { Arg, Ctx, Field, FieldResolver, ObjectType, Resolver, Root } from "type-graphql";
import {
  type AccessList,
  groupRoleNotice,
  type GroupEntry,
  type UserEntry,
  EndingAclChange,
} from "../../domain/groups/access-lists.js";
import type { Context } from "../../domain/kernel/context.js";
import { readWorkspaceAcl, updateWorkspaceAcl, UpdateWorkspaceAcl } from "../../domain/workspaces/acl.js";
import { WorkspaceRole, type WorkspaceRow, workspacesById } from "../../domain/workspaces/workspaces.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { DateTime } from "../engine/scalars.js";
import { GroupType } from "../groups/groups.js";
import { PublicUserType } from "../users/users.js";
import { WorkspaceType } from "./workspaces.js";
import { inputType } from "../engine/inputs.js";

enumType({ WorkspaceRole }, "A role in the access list of a workspace.", {
  USE: "Reads and enters the workspace, where the secrets of the owner can be read.",
  ADMIN: "Also changes, starts, and stops the workspace.",
});

const endsDescription = "When the entry ends by itself; null for never. Streams that depend on it end then.";

@ObjectType("WorkspaceUserEntry", { simpleResolvers: true, description: "The role of a user in an access list." })
class WorkspaceUserEntryType implements UserEntry {
  @Field(() => PublicUserType, { description: "The user." }) user!: UserEntry["user"];
  @Field(() => WorkspaceRole, { description: "The role." }) role!: UserEntry["role"];
  @Field(() => DateTime, { nullable: true, description: endsDescription }) expiresAt!: string | null;
}

@ObjectType("WorkspaceGroupEntry", { simpleResolvers: true, description: "The role of a group in an access list." })
class WorkspaceGroupEntryType implements GroupEntry {
  @Access({ covers: ["id", "name", "displayName", "avatarUrl"] })
  @Field(() => GroupType, { description: "The group. `Everyone` has the ID of the organization." })
  group!: GroupEntry["group"];
  @Field(() => WorkspaceRole, { description: "The role, which all members of the group have." })
  role!: GroupEntry["role"];
  @Field(() => DateTime, { nullable: true, description: endsDescription }) expiresAt!: string | null;
}

@Access({ readWith: "workspace:share" })
@ObjectType("WorkspaceAcl", { simpleResolvers: true, description: "The access list of a workspace." })
class WorkspaceAclType implements AccessList {
  @Access({ countsAs: 100 })
  @Field(() => [WorkspaceUserEntryType], { description: "Entries of users, by username." })
  users!: UserEntry[];
  @Access({ countsAs: 100 })
  @Field(() => [WorkspaceGroupEntryType], { description: "Entries of groups, by name." })
  groups!: GroupEntry[];
}

inputType("WorkspaceAclChangeInput", EndingAclChange, {
  description: "A change of an entry of the access list of a workspace.",
  entryKey: "id",
});

const UpdateWorkspaceAclInput = inputType("UpdateWorkspaceAclInput", UpdateWorkspaceAcl, {
  description: "Input of `updateWorkspaceAcl`. At most 1000 entries together; others stay.",
});

@Resolver(() => WorkspaceType)
export class WorkspaceAclResolver {
  @Access({ needs: ["workspace:share"] })
  @FieldResolver(() => WorkspaceAclType, {
    nullable: true,
    description: "With whom it is shared. Null and FORBIDDEN for all but the owner.",
  })
  acl(@Root() workspace: WorkspaceRow, @Ctx() ctx: Context): Promise<AccessList> {
    return readWorkspaceAcl(ctx, workspace);
  }

  @Access({ needs: ["workspace:share"] })
  @Mutates(`Shares a workspace with users and groups, or ends that. Only its owner may. ${groupRoleNotice}`, {
    workspace: { type: () => WorkspaceType, description: "The workspace." },
  })
  async updateWorkspaceAcl(
    @Arg("input", () => UpdateWorkspaceAclInput, { description: "The changes." }) input: UpdateWorkspaceAcl,
    @Ctx() ctx: Context,
  ) {
    const id = await updateWorkspaceAcl(ctx, input);
    return { workspace: () => ctx.load(workspacesById, id) };
  }
}
