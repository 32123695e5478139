import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { readWorkspaceCost, type WorkspaceCost } from "../../domain/workspaces/quotas.js";
import { Access } from "../engine/access.js";
import { BigInt, UUID } from "../engine/scalars.js";

@ObjectType("WorkspaceCost", {
  simpleResolvers: true,
  description: "What a new workspace of the caller costs while it runs, against the caller's workspace quota.",
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
    description: "Returns what a new workspace of the caller would cost with a version of a template.",
  })
  workspaceCost(
    @Arg("templateVersionId", () => UUID, { description: "ID of the version." }) templateVersionId: string,
    @Ctx() ctx: Context,
  ): Promise<WorkspaceCostType> {
    return readWorkspaceCost(ctx, templateVersionId);
  }
}
