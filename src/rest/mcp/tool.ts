import type { GraphQLSchema } from "graphql";
import { missingScopes, type Need, scopesOf } from "../../domain/authorization/authorization.js";
import type { UserActor } from "../../domain/kernel/actor.js";
import type { Context } from "../../domain/kernel/context.js";
import { Problems } from "../../domain/kernel/errors.js";
import { type McpTool, mcpTool, mcpTools } from "../../domain/mcp/tools.js";
import { memoize } from "../../graphql/engine/memoized.js";
import { type StoredOperation, storedOperations } from "../../graphql/engine/stored-operations.js";
import type { Variables } from "../../graphql/engine/variables.js";
import type { Route } from "../engine/area.js";
import { type Binding, bindingOf } from "../engine/bind.js";
import { apiDialect } from "../engine/dialects.js";
import { schemaOf } from "../engine/openapi/openapi.js";
import { propertiesOf } from "../engine/openapi/requests.js";
import { InlineSchemas, type Json } from "../engine/openapi/schemas.js";
import { spell } from "../engine/render.js";
import { resultOf, type ResultShape, step } from "../engine/shapes.js";
import { foreignTexts, resultSchema, type ToolResult, toolResult } from "./results.js";
import { type ToolOptions, type ToolRow, toolRows } from "./rows.js";

/** The arguments of a call, as a client sent them. */
export type Given = Readonly<Record<string, unknown>>;

/** An operation of a tool, with what it reads and writes. */
class Part {
  readonly binding: Binding;
  readonly result: ResultShape;

  constructor(
    schema: GraphQLSchema,
    readonly operation: StoredOperation,
  ) {
    const { name } = operation;
    const options = {};
    // Arguments are spelled as the body of a row.
    const route: Route = {
      method: "POST",
      path: "/mcp",
      operation: name,
      status: 200,
      options,
      dialect: apiDialect,
      isPage: false,
    };
    this.binding = bindingOf(route, operation);
    this.result = resultOf(schema, operation);
  }

  variables(given: Given): Variables {
    const body: Record<string, unknown> = { ...given };
    return this.binding.variables({ path: {}, query: new URLSearchParams(), headers: {}, body });
  }

  /** Runs the query or mutation. Returns its body as rows spell it. Throws its first error. */
  async run(ctx: Context, variables: Variables): Promise<unknown> {
    const { data, errors } = await this.operation.admit(ctx).run(variables);
    if (errors) throw errors[0];
    const { body } = this.result;
    const content = body?.from.reduce<unknown>(step, data);
    return body && content != null ? spell(body.shape, content) : {};
  }

  /** Starts the subscription. Throws its first error. */
  async start(ctx: Context, variables: Variables): Promise<AsyncGenerator> {
    const events = await this.operation.admit(ctx).start(variables);
    if (Symbol.asyncIterator in events) return events;
    throw events.errors![0];
  }
}

/** Seconds that a tool waits, and at most. */
const usualWait = 60;
const longestWait = 300;

const waitSchema: Json = {
  type: "integer",
  minimum: 1,
  maximum: longestWait,
  default: usualWait,
  description: "Seconds after which the state is returned as it is then. Call again to wait on.",
};

/** A tool with its operations, ready to be called. */
export class Tool {
  readonly inputSchema: Json;
  readonly outputSchema: Json;
  /** The permissions that the scopes of a credential must cover. */
  readonly needs: readonly Need[];
  readonly options: ToolOptions;
  readonly main: Part;
  readonly watch: Part | undefined;
  readonly asks: Part | undefined;
  readonly #foreign: readonly string[];
  readonly #known: ReadonlySet<string>;

  constructor(
    schema: GraphQLSchema,
    operations: ReadonlyMap<string, StoredOperation>,
    readonly told: McpTool,
    [, operation, options = {}]: ToolRow,
  ) {
    const part = (name: string | undefined) =>
      name === undefined ? undefined : new Part(schema, operations.get(name)!);
    this.options = options;
    this.main = part(operation)!;
    this.watch = part(options.waits?.subscription);
    this.asks = part(options.asks);
    const parts = [this.main, this.watch, this.asks].filter((each) => each !== undefined);
    this.needs = [...new Set(parts.flatMap((each) => each.operation.needs))];
    // The subscription takes the narrower values.
    const { parameters } = (this.watch ?? this.main).binding;
    const input = propertiesOf(parameters, new InlineSchemas()) as { properties: Record<string, Json> };
    const { limit } = input.properties;
    if (limit) Object.assign(limit, { minimum: 1, maximum: options.most, description: "The most entries to return." });
    if (this.watch) input.properties["timeout_seconds"] = waitSchema;
    this.inputSchema = { ...input, additionalProperties: false };
    this.#known = new Set(Object.keys(input.properties));
    const shape = this.main.result.body?.shape;
    this.outputSchema = resultSchema(shape ? terse(schemaOf(shape, new InlineSchemas())) : { type: "object" });
    this.#foreign = shape ? foreignTexts(shape, "result") : [];
  }

  /** The scopes that a credential needs, as names. */
  get scopes(): string[] {
    return scopesOf(this.needs);
  }

  /**
   * The scopes that a credential lacks. A program that cannot ask its user before it deletes needs the scope of the deletion
   * by its name: one that includes it is not enough.
   */
  missing({ scopes }: UserActor, canAsk: boolean): string[] {
    const { scope } = this.options;
    const missing = missingScopes(scopes, this.needs);
    const isNamed = scope === undefined || canAsk || scopes.includes(scope);
    return isNamed ? missing : [...new Set([...missing, scope])];
  }

  /** Reports all that is wrong with the form of arguments. Rules beyond form belong to the domain. */
  check(given: Given): void {
    const { most } = this.options;
    const problems = new Problems();
    for (const name of Object.keys(given))
      if (!this.#known.has(name)) problems.add(name, "Is no argument of this tool.");
    if (most !== undefined) addWhole(problems, "limit", given["limit"], most);
    if (this.watch) addWhole(problems, "timeout_seconds", given["timeout_seconds"], longestWait);
    problems.throwIfAny();
  }

  /** Seconds to wait. */
  waitOf = ({ timeout_seconds: seconds }: Given): number => (typeof seconds === "number" ? seconds : usualWait);

  run = async (ctx: Context, given: Given): Promise<ToolResult> =>
    this.resultOf(await this.main.run(ctx, this.main.variables(given)));

  resultOf = (body: unknown): ToolResult => toolResult(body, this.#foreign);

  /** Spells a field that a rule of the domain names as it is among the arguments. */
  argument = (field: string, given: Given): string => this.main.binding.wireField(field, this.main.variables(given));
}

/** Keywords that only people read. */
const forPeople: ReadonlySet<string> = new Set(["description", "format"]);

/** A schema without what only people read: clients give it to models with every conversation. */
const terse = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema), (key: string, value: unknown) =>
    forPeople.has(key) && typeof value === "string" ? undefined : value,
  ) as Json;

function addWhole(problems: Problems, name: string, value: unknown, most: number): void {
  const isRight = value == null || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most);
  problems.add(name, isRight ? undefined : `Must be a whole number from 1 to ${most}.`);
}

/** The tools in the order of the catalog. Throws if a row, an operation, or a tool has no counterpart. */
export const toolsOf = memoize((schema: GraphQLSchema): ReadonlyMap<string, Tool> => {
  const operations = storedOperations(schema, "rest/mcp/tools");
  const used = new Set(
    toolRows.flatMap(([, operation, { waits, asks } = {}]) => [operation, waits?.subscription, asks]),
  );
  const unused = [...operations.keys()].filter((name) => !used.has(name));
  if (unused.length > 0) throw new Error(`rest/mcp/tools.graphql: no tool uses ${unused.join(", ")}.`);
  const tools = toolRows.map((row) => {
    const told = mcpTool(row[0]);
    if (!told) throw new Error(`${row[0]} is no tool of the MCP server.`);
    return [told.name, new Tool(schema, operations, told, row)] as const;
  });
  if (tools.length !== mcpTools.length) throw new Error("A tool of the MCP server has no row.");
  return new Map(tools);
});
