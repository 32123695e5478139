import type { Services } from "../../domain/kernel/context.js";
import type { Tool } from "./tool.js";

/** Tells language models what this server is and which tools it has, as Markdown (`/llms.txt`). */
export function llmsTxt({ config, mcpTools }: Services, tools: ReadonlyMap<string, Tool>): string {
  const { accessUrl } = config;
  const allowed = mcpTools.isEnabled ? [...tools.values()].filter(({ told }) => mcpTools.isAllowed(told)) : [];
  const lines = allowed.map(
    (tool) => `- \`${tool.told.name}\`: ${tool.told.description} Scopes: ${tool.scopes.join(", ")}.`,
  );
  return `# Steward

> Administration API of a remote-development workspace platform: people, groups, templates, workspaces, and AI tasks.

## Interfaces

- [MCP server](${accessUrl}/mcp): tools for language models, by Streamable HTTP. Clients sign in by OAuth: [metadata](${accessUrl}/.well-known/oauth-protected-resource/mcp).
- [REST](${accessUrl}/openapi.json): the description of the REST interface in OpenAPI 3.1.
- [GraphQL](${accessUrl}/graphql): the same operations as GraphQL.

## Tools

${lines.length > 0 ? lines.join("\n") : "The MCP server of this deployment is switched off."}
`;
}
