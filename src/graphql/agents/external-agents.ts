import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import { type ExternalAgentCredentials, readExternalAgentCredentials } from "../../domain/agents/external-agents.js";
import type { Context } from "../../domain/kernel/context.js";
import { Access } from "../engine/access.js";
import { UUID } from "../engine/scalars.js";

@Access({ readWith: "workspace_agent:read_credentials" })
@ObjectType("ExternalAgentCredentials", {
  simpleResolvers: true,
  description: "The means to start an external agent on its machine.",
})
class ExternalAgentCredentialsType implements ExternalAgentCredentials {
  @Field({ description: "Token of the agent; the same until the next start." }) agentToken!: string;
  @Field({ description: "Command that fetches the agent and runs it with the token." })
  command!: string;
}

@Resolver()
export class ExternalAgentsResolver {
  @Access({ needs: ["workspace_agent:read_credentials"] })
  @Query(() => ExternalAgentCredentialsType, {
    nullable: true,
    description:
      "Returns the credentials of an external agent, if the latest build of the workspace is a start. Each delivery is recorded in the audit log.",
  })
  externalAgentCredentials(
    @Arg("workspaceId", () => UUID, { description: "ID of the workspace." }) workspaceId: string,
    @Arg("agentName", { description: "Name of the agent." }) agentName: string,
    @Ctx() ctx: Context,
  ): Promise<ExternalAgentCredentials> {
    return readExternalAgentCredentials(ctx, workspaceId, agentName);
  }
}
