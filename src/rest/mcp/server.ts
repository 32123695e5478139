import type {
  AuthInfo,
  CallToolResult,
  McpHttpHandler,
  McpRequestContext,
  McpServer,
  ReadResourceResult,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import type { GraphQLSchema } from "graphql";
import type { UserActor } from "../../domain/kernel/actor.js";
import type { Context, Services } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { report, translate } from "../../graphql/engine/errors.js";
import { isObject } from "../../runtime/json.js";
import { version } from "../../runtime/program-files.js";
import type { Json } from "../engine/openapi/schemas.js";
import { deletionOf, isQuestionOf, sealQuestion } from "./confirmation.js";
import { faultText } from "./faults.js";
import { instructions } from "./instructions.js";
import { resourceRows } from "./resources.js";
import { notice, type ToolResult } from "./results.js";
import { type Given, type Tool, toolsOf } from "./tool.js";
import { waitFor } from "./waiting.js";

type Library = typeof import("@modelcontextprotocol/server");

/** The library, which is loaded with the first request: few deployments use it, and it takes memory. */
const load = (): Promise<Library> => import("@modelcontextprotocol/server");

/** A request of a program, and its caller. */
export interface McpCall {
  ctx: Context;
  caller: UserActor;
}

/** The calls in progress, by what the library passes on. */
const calls = new WeakMap<AuthInfo, McpCall>();

/** The method whose responses stay open for notifications. */
export const listening = "subscriptions/listen";

/** Serves the Model Context Protocol: each request by a server object of its own, so that no replica keeps anything. */
export class Mcp {
  #loaded: Promise<{ library: Library; short: McpHttpHandler; long: McpHttpHandler }> | undefined;

  constructor(
    private readonly services: Services,
    private readonly schema: GraphQLSchema,
  ) {
    services.mcpTools.onChange(() => {
      void this.#loaded?.then(({ long }) => long.notify.toolsChanged());
    });
  }

  /** The tools, which are made with the first request: that takes a tenth of a second. */
  get tools(): ReadonlyMap<string, Tool> {
    return toolsOf(this.schema);
  }

  /** Whether a request has a response that stays open for longer than others. */
  isLong(body: Given): boolean {
    const { method, params } = body;
    if (method === listening) return true;
    const name = method === "tools/call" && isObject(params) ? params["name"] : undefined;
    return typeof name === "string" && this.tools.get(name)?.watch !== undefined;
  }

  /** Responds to a request whose body was read. */
  async respond(request: Request, body: Given, call: McpCall): Promise<Response> {
    const { short, long } = await (this.#loaded ??= this.#start());
    const { accessUrl } = this.services.config;
    const { id, oauth } = call.caller.credential;
    const authInfo: AuthInfo = {
      token: "",
      clientId: oauth?.clientId ?? id,
      scopes: [...call.caller.scopes],
      resourceMetadataUrl: `${accessUrl}/.well-known/oauth-protected-resource/mcp`,
    };
    calls.set(authInfo, call);
    const handler = this.isLong(body) ? long : short;
    return handler.fetch(request, { authInfo, parsedBody: body });
  }

  async close(): Promise<void> {
    const loaded = await this.#loaded?.catch(() => undefined);
    await Promise.all([loaded?.short.close(), loaded?.long.close()]);
  }

  async #start() {
    const library = await load();
    const factory = (request: McpRequestContext) => this.#serverFor(library, request);
    const onerror = (error: Error) => this.services.log.debug({ err: error }, "MCP request failed");
    return {
      library,
      short: library.createMcpHandler(factory, { onerror }),
      long: library.createMcpHandler(factory, { onerror, responseMode: "sse" }),
    };
  }

  #serverFor(library: Library, { era, authInfo }: McpRequestContext): McpServer {
    const { config, mcpTools } = this.services;
    const call = calls.get(authInfo!)!;
    // Only responses that stay open report changes, which earlier revisions have no request for.
    const listChanged = era === "modern";
    const info = { name: "steward", title: "Steward", version, websiteUrl: config.accessUrl };
    const capabilities = { tools: { listChanged }, resources: { listChanged: false } };
    const server = new library.McpServer(info, { instructions, capabilities });
    for (const tool of this.tools.values())
      if (mcpTools.isAllowed(tool.told)) this.#addTool(library, server, tool, call);
    for (const row of resourceRows) {
      const tool = this.tools.get(row.tool)!;
      if (mcpTools.isAllowed(tool.told)) this.#addResource(library, server, row, call);
    }
    return server;
  }

  #addTool(library: Library, server: McpServer, tool: Tool, call: McpCall): void {
    const { name, title, description, effect } = tool.told;
    const config = {
      title,
      description,
      inputSchema: asSchema(tool.inputSchema),
      outputSchema: asSchema(tool.outputSchema),
      annotations: {
        title,
        readOnlyHint: effect === "reads",
        destructiveHint: effect === "deletes",
        idempotentHint: effect === "reads",
        openWorldHint: false,
      },
      scopeChallenge: ({ request }: { request: { params?: unknown } }) =>
        this.#challengeOf(tool, call, canAsk(library, request.params)),
    };
    server.registerTool(name, config, (given: unknown, mcp: ServerContext) =>
      this.#call(library, tool, isObject(given) ? given : {}, call, mcp),
    );
  }

  #challengeOf(tool: Tool, { caller }: McpCall, asks: boolean) {
    const missing = tool.missing(caller, asks);
    if (missing.length === 0) return undefined;
    const scopes = [...new Set([...caller.scopes, ...missing])].sort() as [string, ...string[]];
    return { scopes, errorDescription: `The tool ${tool.told.name} needs ${missing.join(", ")}.` };
  }

  async #call(library: Library, tool: Tool, given: Given, { ctx, caller }: McpCall, mcp: ServerContext) {
    ctx.request.tool = tool.told.name;
    try {
      tool.check(given);
      if (tool.asks && canAsk(library, { _meta: mcp.mcpReq.envelope })) {
        const question = await this.#ask(library, tool, given, { ctx, caller }, mcp);
        if (question) return question;
      }
      if (!tool.watch) return succeeded(await tool.run(ctx, given));
      const { _meta: meta, signal } = mcp.mcpReq;
      const progressToken = meta?.progressToken;
      return succeeded(
        await waitFor(ctx, tool, given, signal, async (progress, state) => {
          if (progressToken === undefined) return;
          const params = { progressToken, progress, message: `It is ${state}.` };
          await mcp.mcpReq.notify({ method: "notifications/progress", params });
        }),
      );
    } catch (error) {
      return failed(this.#faultOf(ctx, tool, given, error));
    }
  }

  /** Asks the user before a deletion. Returns nothing once the user agreed. */
  async #ask(library: Library, tool: Tool, given: Given, { ctx, caller }: McpCall, { mcpReq }: ServerContext) {
    const { decision } = (mcpReq.inputResponses ?? {}) as { decision?: { action?: unknown } };
    const deletion = await deletionOf(ctx, caller, tool, given);
    const isAnswered = decision !== undefined && (await isQuestionOf(ctx, deletion, mcpReq.requestState()));
    if (isAnswered) {
      const agreed = library.acceptedContent<{ delete?: unknown }>(mcpReq.inputResponses, "decision");
      return agreed?.delete === true ? undefined : failed("The user did not agree. Nothing was deleted.");
    }
    const requestedSchema = {
      type: "object" as const,
      properties: { delete: { type: "boolean" as const, title: "Delete it for good" } },
      required: ["delete"],
    };
    return library.inputRequired({
      inputRequests: { decision: library.inputRequired.elicit({ message: deletion.question, requestedSchema }) },
      requestState: await sealQuestion(ctx, deletion),
    });
  }

  #addResource(library: Library, server: McpServer, row: (typeof resourceRows)[number], call: McpCall): void {
    const tool = this.tools.get(row.tool)!;
    const list = row.list && (() => this.#listed(row, call));
    const template = new library.ResourceTemplate(row.uri, { list: list || undefined });
    const config = {
      title: row.title,
      description: row.description,
      mimeType: "application/json",
      scopeChallenge: () => this.#challengeOf(tool, call, true),
    };
    server.registerResource(row.name, template, config, async (uri, variables): Promise<ReadResourceResult> => {
      const { ctx } = call;
      try {
        const result = await tool.run(ctx, variables);
        return {
          contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify({ notice, ...result }) }],
        };
      } catch (error) {
        throw new library.ProtocolError(
          library.ProtocolErrorCode.InvalidParams,
          this.#faultOf(ctx, tool, variables, error),
        );
      }
    });
  }

  /** The resources of a kind that the caller may read; none without the scopes. */
  async #listed({ uri, list }: (typeof resourceRows)[number], { ctx, caller }: McpCall) {
    const tool = this.tools.get(list!.tool)!;
    if (!this.services.mcpTools.isAllowed(tool.told) || tool.missing(caller, true).length > 0) return { resources: [] };
    const { result } = await tool.run(ctx, { limit: tool.options.most });
    const found = (result as Record<string, ReadonlyArray<{ id: string; name: string; description?: string }>>)[
      list!.field
    ]!;
    return {
      resources: found.map(({ id, name, description }) => ({
        uri: uri.replace(/\{\w+\}/, id),
        name,
        ...(description && { description }),
      })),
    };
  }

  #faultOf(ctx: Context, tool: Tool, given: Given, error: unknown): string {
    const failure = translate(error);
    report(ctx, failure, error);
    const { validations } = failure.details;
    if (!validations || failure !== error) return faultText(named(failure, tool, given), ctx.request);
    return faultText(failure, ctx.request);
  }
}

/** A failure of the domain, with its fields as they are named among the arguments. */
function named(failure: DomainError, tool: Tool, given: Given): DomainError {
  const { validations } = failure.details;
  if (!validations) return failure;
  const spelled = validations.map(({ field, detail }) => ({ field: tool.argument(field, given), detail }));
  return new DomainError(failure.code, failure.message, { ...failure.details, validations: spelled });
}

/** Whether the client of a request can ask its user, by what it says with the request itself. */
function canAsk({ CLIENT_CAPABILITIES_META_KEY }: Library, params: unknown): boolean {
  const meta = isObject(params) ? params["_meta"] : undefined;
  const capabilities = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isObject(elicitation) && (elicitation["form"] !== undefined || elicitation["url"] === undefined);
}

const succeeded = (result: ToolResult): CallToolResult => ({
  content: [{ type: "text", text: `${notice}\n${JSON.stringify(result)}` }],
  structuredContent: result,
});

const failed = (text: string): CallToolResult => ({ content: [{ type: "text", text }], isError: true });

/** A schema for the library, which only shows it: values are read as those of rows are, with all faults together. */
const schemas = new WeakMap<Json, StandardSchemaWithJSON>();

function asSchema(json: Json): StandardSchemaWithJSON {
  const known = schemas.get(json);
  if (known) return known;
  const schema: StandardSchemaWithJSON = {
    "~standard": {
      version: 1,
      vendor: "steward",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => json, output: () => json },
    },
  };
  schemas.set(json, schema);
  return schema;
}
