import { Arg, Ctx, Field, InputType, Int, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import { AgentResource, reportResourceAlert, type ResourceAlert } from "../../domain/notifications/resource-alerts.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";

enumType({ AgentResource }, "A resource of a workspace that can run out.", {
  MEMORY: "Main memory.",
  DISK: "Space on volumes.",
});

@InputType({ description: "A volume that is fuller than its threshold." })
class AgentVolumeInput {
  @Field({ description: "Path at which it is mounted, at most 255 characters." }) path!: string;
  @Field(() => Int, { description: "Threshold in percent, from 1 to 100." }) threshold!: number;
}

@InputType({ description: "Input of `reportAgentResourceAlert`." })
export class ReportAgentResourceAlertInput implements ResourceAlert {
  @Field(() => AgentResource, { description: "The resource." }) resource!: AgentResource;
  @Field(() => Int, { nullable: true, description: "Threshold in percent, from 1 to 100. Required for MEMORY." })
  threshold?: number | null;
  @Access({ countsAs: 20 })
  @Field(() => [AgentVolumeInput], { nullable: true, description: "Volumes, at most 20. Required for DISK." })
  volumes?: AgentVolumeInput[] | null;
}

@Resolver()
export class ResourceAlertsResolver {
  @Access({ openTo: ["agent"] })
  @Mutates("Tells the owner of a workspace that it runs out of memory or disk space. For workspace agents.", {
    reported: {
      type: () => Boolean,
      description: "Whether the owner is told. False if the agent has reported the resource in this hour (UTC) before.",
    },
  })
  async reportAgentResourceAlert(
    @Arg("input", { description: "The resource." })
    input: ReportAgentResourceAlertInput,
    @Ctx() ctx: Context,
  ) {
    return { reported: await reportResourceAlert(ctx, input) };
  }
}
