// The tools of the MCP server and the scopes that programs may get for them.
// Looks inside: compares tables of the program.
import { expect } from "chai";
import { OperationTypeNode } from "graphql";
import { mcpScopes, mcpTools, mcpUsualScopes } from "../../src/domain/mcp/tools.js";
import { getSchema } from "../../src/graphql/schema.js";
import { cleanText, toolResult } from "../../src/rest/mcp/results.js";
import { toolsOf } from "../../src/rest/mcp/tool.js";

describe("the tools of the MCP server", () => {
  const tools = [...toolsOf(getSchema()).values()];

  it("need the scopes that programs may get, each of which some tool needs", () => {
    const needed = new Set(tools.flatMap(({ scopes }) => scopes));
    expect([...needed].sort()).to.deep.equal([...mcpScopes].sort());
    expect(mcpUsualScopes.filter((scope) => /delete|ssh|audit/.test(scope))).to.deep.equal([]);
  });

  it("run mutations only if they say that they change something", () => {
    for (const { told, main } of tools)
      expect(main.operation.kind === OperationTypeNode.MUTATION, told.name).to.equal(told.effect !== "reads");
  });

  it("delete only what they ask about, with a scope that stands for the question", () => {
    for (const { told, asks, options, needs } of tools) {
      expect(asks !== undefined, told.name).to.equal(told.effect === "deletes");
      expect(
        needs.some((need) => need.endsWith(":delete")),
        told.name,
      ).to.equal(told.effect === "deletes");
      if (asks) expect(options.scope).to.match(/^(workspace|task):delete$/);
    }
    expect(mcpTools.length).to.equal(tools.length);
  });

  it("take pages of a size that fits a conversation", () => {
    for (const { told, inputSchema, options } of tools) {
      const { limit } = inputSchema["properties"] as Record<string, { default?: number; maximum?: number }>;
      expect(limit === undefined, told.name).to.equal(options.most === undefined);
      if (limit) expect(limit.default, told.name).to.be.at.most(limit.maximum!);
    }
  });

  it("return text without what readers do not see, and no more than a conversation holds", () => {
    expect(cleanText("a\u200b\u{e0041}\u{e0100}\ufeff\u0007\u202eb\tc\n\u001b[1md")).to.equal("ab\tc\nd");
    expect(cleanText("👩‍💻 می‌خواهم")).to.equal("👩‍💻 می‌خواهم");
    const { result } = toolResult({ a: "x".repeat(20_000), b: ["y".repeat(9_000)] }, []);
    expect(JSON.stringify(result)).to.match(/12000 more characters/);
    const many = Array.from({ length: 2_000 }, () => "z".repeat(600));
    expect(() => toolResult(many, [])).to.throw("ask for a smaller page");
  });
});
