import { Arg, Ctx, Field, Int, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type ListedTool,
  type McpServerState,
  readMcpServer,
  updateMcpSettings,
  UpdateMcpSettings,
} from "../domain/mcp/mcp-settings.js";
import { listMcpPrograms, type McpProgram } from "../domain/mcp/programs.js";
import { McpToolEffect } from "../domain/mcp/tools.js";
import { ClientKind } from "../domain/oauth2/clients.js";
import { Access } from "./engine/access.js";
import { enumType, Mutates } from "./engine/declarations.js";
import { inputType } from "./engine/inputs.js";
import { DateTime, Url, UUID } from "./engine/scalars.js";

enumType({ McpToolEffect }, "How a tool of the MCP server changes what it works on.", {
  READS: "It changes nothing.",
  CHANGES: "It creates or changes something, or starts and stops it.",
  DELETES: "It deletes something for good. The user is asked before.",
});

@Access({ readWith: "deployment_config:read" })
@ObjectType("McpTool", {
  simpleResolvers: true,
  description: "A tool of the MCP server, which models call for a user.",
})
class McpToolType implements ListedTool {
  @Field({ description: "The name by which clients know it. It never changes." }) name!: string;
  @Field({ description: "The name that people read." }) title!: string;
  @Field({ description: "Tells models when to use it." }) description!: string;
  @Field(() => McpToolEffect, { description: "How it changes what it works on." }) effect!: McpToolEffect;
  @Field({ description: "Whether programs may use it in this deployment." }) isAllowed!: boolean;
}

@Access({ readWith: "deployment_config:read" })
@ObjectType("McpServer", {
  simpleResolvers: true,
  description: "The MCP server of the deployment: programs with language models use it in the name of a user.",
})
class McpServerType implements McpServerState {
  @Field({ description: "Whether programs may use it." }) enabled!: boolean;
  @Field(() => Url, { description: "Its URL, which users give to their programs." }) url!: string;
  @Field(() => [McpToolType], { description: "All tools, in the order in which clients list them." })
  tools!: ListedTool[];
}

@Access({ readWith: "deployment_config:read" })
@ObjectType("McpProgram", {
  simpleResolvers: true,
  description: "A program that users gave access to the MCP server alone: an OAuth2 application.",
})
class McpProgramType implements McpProgram {
  @Field(() => UUID, { description: "ID of the application." }) id!: string;
  @Field({ description: "The name of the application, as it says itself." }) name!: string;
  @Field(() => ClientKind, { description: "How the application came to be." }) kind!: ClientKind;
  @Field(() => Int, { description: "Number of users who gave it access, among the 1000 newest grants." })
  userCount!: number;
  @Field(() => DateTime, { description: "When it was last used, accurate to 5 minutes." }) lastUsedAt!: string;
}

const UpdateMcpSettingsInput = inputType("UpdateMcpSettingsInput", UpdateMcpSettings, {
  description: "Input of `updateMcpSettings`, which replaces all settings.",
});

@Resolver()
export class McpResolver {
  @Access({ needs: ["deployment_config:read"] })
  @Query(() => McpServerType, { description: "Returns the MCP server with its tools and what owners decided." })
  mcpServer(@Ctx() ctx: Context): Promise<McpServerState> {
    return readMcpServer(ctx);
  }

  @Access({ needs: ["deployment_config:read"] })
  @Query(() => [McpProgramType], {
    description: "Lists the programs with access to the MCP server, at most 100, the most recently used first.",
  })
  mcpPrograms(@Ctx() ctx: Context): Promise<McpProgram[]> {
    return listMcpPrograms(ctx);
  }

  @Access({ needs: ["deployment_config:update"] })
  @Mutates("Replaces the settings of the MCP server: whether it is on, and which tools programs may not use.", {
    mcpServer: { type: () => McpServerType, description: "The MCP server after the update." },
  })
  async updateMcpSettings(
    @Arg("input", () => UpdateMcpSettingsInput, { description: "The new settings." }) input: UpdateMcpSettings,
    @Ctx() ctx: Context,
  ) {
    return { mcpServer: await updateMcpSettings(ctx, input) };
  }
}
