import {
  createSourceEventStream,
  type DocumentNode,
  execute,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  separateOperations,
} from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type Need, requireScopes } from "../../domain/authorization/authorization.js";
import { DomainError, forbidden, unauthenticated } from "../../domain/kernel/errors.js";
import { accountTriedBy, isOpen, requireKind, takes } from "./access.js";
import { type Coerce, coercerOf } from "./coercion.js";
import { compile } from "./compile.js";
import { asGraphqlError } from "./errors.js";
import { selectionOf } from "./needs.js";
import { inTransaction } from "./transaction.js";
import { isLarger, type Result } from "./result.js";
import type { Variables } from "./variables.js";

/** An operation that was parsed and validated once and runs many times: the one executor of every surface. */
export interface Operation {
  readonly kind: OperationTypeNode;
  readonly definition: OperationDefinitionNode;
  /** The definition with just the fragments it uses. */
  readonly document: DocumentNode;
  /** Everything its fields need of the credential's scopes. */
  readonly needs: readonly Need[];
  /** Whether it runs without a credential. */
  readonly open: boolean;
  /** Whether somebody could use it to guess at secrets: it counts by address and account, not by its caller. */
  readonly triesSecrets: boolean;
  /** The values of its variables, defaults included; nothing where a value is not acceptable. */
  readonly coerce: Coerce;
  /** Throws for nobodies, and for those whose credentials do not count here. */
  authenticate(ctx: Context): void;
  /** Throws for them and for too narrow scopes, before any object is looked up. `run` and `start` do it too. */
  admit(ctx: Context): void;
  /** Runs a query or mutation. Faults are in `errors`, never thrown. */
  run(ctx: Context, variables: Variables): Result | Promise<Result>;
  /** Starts a subscription: its events, or the faults that kept it from starting. */
  start(ctx: Context, variables: Variables): Promise<AsyncGenerator<Result> | Result>;
}

/**
 * Prepares an operation of a valid document. Queries are compiled to code when `compiled`; mutations, which run rarely,
 * and subscriptions, whose arguments the compiler reads differently, are interpreted. A response of more than
 * `mostBytes` of JSON is a fault, also of each event of a subscription.
 */
export function prepare(
  schema: GraphQLSchema,
  wider: DocumentNode,
  operationName?: string,
  compiled = true,
  mostBytes = Infinity,
): Operation {
  const definition = getOperationAST(wider, operationName);
  if (!definition)
    throw new GraphQLError(
      operationName ? `Unknown operation named "${operationName}".` : "Must provide an operation name.",
    );
  const kind = definition.operation;
  const document = separateOperations(wider)[definition.name?.value ?? ""]!;
  const { roots, needs } = selectionOf(schema, document);
  const closed = [...roots].filter((field) => !isOpen(field));
  const open = closed.length === 0;
  const coerce = coercerOf(schema, definition);
  const isMutation = kind === OperationTypeNode.MUTATION;
  const interpret: Execution = (contextValue, variableValues, rootValue) =>
    execute({ schema, document, contextValue, variableValues, rootValue });
  const execution: Execution =
    compiled && kind === OperationTypeNode.QUERY ? compile(schema, document, coerce, interpret) : interpret;
  const run = mostBytes === Infinity ? execution : within(mostBytes, execution);
  const authenticate = ({ actor }: Context) => {
    if (!open && actor.kind === "anonymous") throw unauthenticated("No credential was sent.");
    if (closed.every((field) => takes(field, actor))) return;
    throw actor.kind === "user" ? forbidden() : unauthenticated("The token is not valid.");
  };
  const admit = (ctx: Context) => {
    if (open) return;
    authenticate(ctx);
    for (const field of closed) requireKind(field, ctx.actor);
    if (ctx.actor.kind === "user") requireScopes(ctx.actor, needs);
  };
  return {
    kind,
    definition,
    document,
    needs,
    open,
    coerce,
    triesSecrets: [...roots].some(accountTriedBy),
    authenticate,
    admit,
    run: (ctx, variables) =>
      refused(admit, ctx) ?? (isMutation ? inTransaction(ctx, () => run(ctx, variables)) : run(ctx, variables)),
    start: async (ctx, variables) => {
      const refusal = refused(admit, ctx);
      if (refusal) return refusal;
      const events = await createSourceEventStream({ schema, document, contextValue: ctx, variableValues: variables });
      if (!(Symbol.asyncIterator in events)) return events as Result;
      return each(events, (event) => run(ctx.afresh(), variables, event));
    },
  };
}

type Execution = (ctx: Context, variables: Variables, root?: unknown) => Result | Promise<Result>;

/** Executes, and refuses to return more than `most` bytes of JSON. */
function within(most: number, execution: Execution): Execution {
  const checked = (result: Result): Result => (isLarger(result, most) ? tooLarge(most) : result);
  return (ctx, variables, root) => {
    const result = execution(ctx, variables, root);
    return result instanceof Promise ? result.then(checked) : checked(result);
  };
}

function tooLarge(most: number): Result {
  const failure = new DomainError(
    "BAD_USER_INPUT",
    `The response would be larger than ${most} bytes: select less of it, or smaller pages.`,
  );
  return { data: null, errors: [asGraphqlError(failure)] };
}

async function* each(
  events: AsyncIterable<unknown>,
  answer: (event: unknown) => Result | Promise<Result>,
): AsyncGenerator<Result> {
  for await (const event of events) yield answer(event);
}

function refused(admit: Operation["admit"], ctx: Context): Result | undefined {
  try {
    admit(ctx);
    return undefined;
  } catch (error) {
    return { data: null, errors: [asGraphqlError(error)] };
  }
}
