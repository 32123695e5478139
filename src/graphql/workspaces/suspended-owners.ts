import { Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type HeldWorkspaces, readHeldWorkspaces, releaseHeldWorkspaces } from "../../domain/users/mass-suspension.js";
import { Access } from "../engine/access.js";
import { Mutates } from "../engine/declarations.js";

@ObjectType("HeldWorkspaces", {
  simpleResolvers: true,
  description:
    "The workspaces that keep running although their owners are suspended, since unusually many users were suspended together.",
})
class HeldWorkspacesType implements HeldWorkspaces {
  @Field(() => Int, { description: "Number of suspended users whose workspaces are not stopped." }) userCount!: number;
  @Field(() => Int, { description: "Number of their workspaces that run or are in the state of a start." })
  workspaceCount!: number;
}

@Resolver()
export class SuspendedOwnersResolver {
  @Access({ needs: ["deployment_config:read"] })
  @Query(() => HeldWorkspacesType, {
    description:
      "Returns how many workspaces of suspended users keep running until an owner releases them: those of users who were suspended within ten minutes of more than 20 others and more than a tenth of the active users.",
  })
  heldWorkspaces(@Ctx() ctx: Context): Promise<HeldWorkspaces> {
    return readHeldWorkspaces(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Lets the server stop the workspaces of suspended users that it holds. Has no effect if there are none.", {
    releasedUserCount: { type: () => Int, description: "Number of users whose workspaces are stopped now." },
  })
  async releaseHeldWorkspaces(@Ctx() ctx: Context) {
    return { releasedUserCount: await releaseHeldWorkspaces(ctx) };
  }
}
