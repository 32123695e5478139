import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { readWorkspaceCost, type WorkspaceCost } from "../../domain/workspaces/quotas.js";
import { Access } from "../engine/access.js";
import { BigInt, UUID } from "../engine/scalars.js";

@Access({ readWith: "user:read" })
@ObjectType("WorkspaceCost", {
  simpleResolvers: true,
  description: "The cost of a new workspace of the caller while it runs, against the caller's workspace quota.",
})
class WorkspaceCostType implements WorkspaceCost {
  @Field(() => BigInt, {
    nullable: true,
    description: "Credits a day that it needs; null if its daemon finds them out with the build.",
  })
  needs!: number | null;
  @Field(() => BigInt, { description: "Total credits granted by the caller's groups in the organization." })
  budget!: number;
  @Field(() => BigInt, { description: "Total credits consumed by the caller's workspaces there." })
  creditsConsumed!: number;
  @Field({ description: "Whether a build would fail, since it exceeds the quota." }) exceeds!: boolean;
  @Field({ description: "Whether the deployment enforces quotas." }) isEnforced!: boolean;
}

@Resolver()
export class WorkspaceCostsResolver {
  @Access({ needs: ["template:read", "user:read"] })
  @Query(() => WorkspaceCostType, {
    nullable: true,
    description: "Returns the cost of a new workspace of the caller with a version of a template, before it is built.",
  })
  workspaceCost(
    @Arg("templateVersionId", () => UUID, { description: "ID of the version." }) templateVersionId: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceCostType> {
    return readWorkspaceCost(ctx, templateVersionId);
  }
}
