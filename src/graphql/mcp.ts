import { Arg, Ctx, Field, ObjectType, Query, Resolver } from "type-graphql";
import type { Context } from "../domain/kernel/context.js";
import {
  type ListedTool,
  type McpServerState,
  readMcpServer,
  updateMcpSettings,
  UpdateMcpSettings,
} from "../domain/mcp/mcp-settings.js";
import { McpToolEffect } from "../domain/mcp/tools.js";
import { Access } from "./engine/access.js";
import { enumType, Mutates } from "./engine/declarations.js";
import { inputType } from "./engine/inputs.js";
import { Url } from "./engine/scalars.js";

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
