import { Arg, Ctx, Resolver } from "type-graphql";
import type { Context } from "../../domain/kernel/context.js";
import {
  AgentResource,
  reportResourceAlert,
  FullVolume,
  ResourceAlert,
} from "../../domain/notifications/resource-alerts.js";
import { Access } from "../engine/access.js";
import { Mutates, enumType } from "../engine/declarations.js";
import { inputType } from "../engine/inputs.js";

enumType({ AgentResource }, "A resource of a workspace that can run out.", {
  MEMORY: "Main memory.",
  DISK: "Space on volumes.",
});

inputType("AgentVolumeInput", FullVolume, { description: "A volume that is fuller than its threshold." });

export const ReportAgentResourceAlertInput = inputType("ReportAgentResourceAlertInput", ResourceAlert);

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
    @Arg("input", () => ReportAgentResourceAlertInput, { description: "The resource." })
    input: ResourceAlert,
    @Ctx() ctx: Context,
  ) {
    return { reported: await reportResourceAlert(ctx, input) };
  }
}
