import { ApolloServer, type ApolloServerPlugin, HeaderMap } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from "@apollo/server/plugin/disabled";
import {
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  OperationTypeNode,
} from "graphql";
import { LRUCache } from "lru-cache";
import type { Context, Services } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { noteError } from "../../domain/kernel/request.js";
import { credentialHeaders, hasSentCredential } from "../../http/credentials.js";
import { failureHeaders, statusOf, TransportError } from "../../http/errors.js";
import type { ContextOf, Http } from "../../http/exchange.js";
import { bodyLimitOf, readBody, refuseEmpty } from "../../http/body.js";
import { joinPieces, jsonPieces, type Pieces } from "../../http/large-responses.js";
import type { Documents, ForeignOperation } from "./documents.js";
import type { Admitted } from "./execute.js";
import { asGraphqlError, formatError, translate, withoutLiterals } from "./errors.js";
import type { Variables } from "./variables.js";
import { checkSize, checkStranger, faults, limits, rulesFor, tokens } from "./limits.js";
import { isLarge } from "./result.js";

/** Where GraphQL is served, over HTTP and WebSocket. */
export const graphqlPath = "/graphql";

/** GraphQL over HTTP: Apollo reads and validates requests, our executor runs them. */
export class GraphqlOverHttp {
  private constructor(
    private readonly apollo: ApolloServer<Context>,
    private readonly services: Services,
    private readonly contextOf: ContextOf,
  ) {}

  static async start(services: Services, schema: GraphQLSchema, documents: Documents, contextOf: ContextOf) {
    const apollo = new ApolloServer<Context>({
      schema,
      introspection: true,
      documentStore: documents.store,
      validationRules: rulesFor(services.config),
      parseOptions: { maxTokens: tokens },
      validationOptions: { maxErrors: faults },
      persistedQueries: false,
      // Required unless the Content-Type rules out a request that browsers send without a preflight.
      csrfPrevention: { requestHeaders: [...credentialHeaders, "apollo-require-preflight", "x-apollo-operation-name"] },
      stringifyResult: async (result) => (await jsonOf(result)).toString(),
      formatError: oneCode,
      logger: services.log,
      stopOnTerminationSignals: false,
      includeStacktraceInErrorResponses: false,
      plugins: [
        ApolloServerPluginCacheControlDisabled(),
        ApolloServerPluginLandingPageDisabled(),
        ownExecutor(documents),
      ],
    });
    await apollo.start();
    return new GraphqlOverHttp(apollo, services, contextOf);
  }

  /** Stops Apollo, once all requests have ended. */
  stop = () => this.apollo.stop();

  /** Handles a request to `/graphql`. */
  handle = async (http: Http): Promise<void> => {
    // HEAD runs as GET; Koa drops the body.
    const method = http.method === "HEAD" ? "GET" : http.method;
    let context: Context;
    let body: Record<string, unknown> | undefined;
    try {
      context = await this.contextOf(http.req, http.state);
      this.services.limits.countCaller(context);
      const limit = bodyLimitOf(context.actor, limits.requestBytes);
      body = method === "POST" ? ((await readBody(http.req, limit)) ?? refuseEmpty()) : undefined;
      checkSize(body?.query);
      checkStranger(context.actor, body ? body.query : new URLSearchParams(http.search).get("query"));
    } catch (error) {
      if (error instanceof TransportError) throw error;
      return this.#refuse(http, error);
    }
    const headers = new HeaderMap();
    for (const name in http.headers) headers.set(name, String(http.headers[name]));
    const response = await this.apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        method,
        headers,
        search: http.search,
        body,
      },
      context: async () => context,
    });
    http.status = response.status ?? 200;
    http.set(Object.fromEntries(response.headers));
    http.body = response.body.kind === "complete" ? response.body.string : "";
  };

  /** Responds to what fails before there is an operation, such as a bad credential, with the status of the failure. */
  #refuse(http: Http, thrown: unknown): void {
    const { config, log } = this.services;
    const failure = translate(thrown);
    const error = formatError(
      { log, request: http.state.details },
      new GraphQLError(failure.message, { originalError: thrown as Error }),
    );
    const challenged = hasSentCredential(http.req, config.accessUrl);
    http.status = statusOf(failure);
    http.set(failureHeaders(failure, { accessUrl: config.accessUrl, isChallenged: challenged }));
    http.body = { errors: [error] };
  }
}

/** Runs operations that Apollo has parsed and validated with our executor. */
function ownExecutor(documents: Documents): ApolloServerPlugin<Context> {
  return {
    requestDidStart: async () => ({
      async responseForOperation({ document, operation: definition, source, request, contextValue }) {
        if (!definition) return null;
        const operation = documents.operation(source, document, request.operationName ?? undefined);
        const { status, result } = await run(operation, request.variables ?? {}, contextValue);
        return { http: { status, headers: new HeaderMap() }, body: { kind: "single", singleResult: result } };
      },
      async willSendResponse({ response, contextValue }) {
        if (response.body.kind !== "single") return;
        for (const { extensions } of response.body.singleResult.errors ?? []) {
          if (!extensions) continue;
          extensions.requestId = contextValue.request.id;
          noteError(contextValue.request, String(extensions.code));
        }
      },
    }),
  };
}

/** The fields of a response, in their order on the wire. */
interface Body {
  errors?: GraphQLFormattedError[];
  data?: Record<string, unknown> | null;
}

/**
 * Results of introspection by document and variables. Building one takes as long as hundreds of other requests, and anyone
 * may ask for it.
 */
const introspections = new LRUCache<string, Body>({ max: 20 });

/** Characters of a key of these results. */
const longestKey = 16 * 1024;

async function run(
  operation: ForeignOperation,
  variables: Variables,
  context: Context,
): Promise<{ status: number; result: Body }> {
  const { introspection } = operation;
  const key = introspection && `${introspection} ${JSON.stringify(variables)}`;
  const known = key && introspections.get(key);
  let admitted: Admitted;
  try {
    admitted = operation.admit(context);
    if (operation.kind === OperationTypeNode.SUBSCRIPTION) throw needsStream();
    if (known) return { status: 200, result: known };
    operation.check(variables);
  } catch (error) {
    const errors = [formatError(context, asGraphqlError(error))];
    // A caller who may not run the operation gets the same response whatever the variables are.
    const isInput = translate(error).code === "BAD_USER_INPUT";
    return isInput ? { status: 400, result: { errors } } : { status: 200, result: { errors, data: null } };
  }
  const { data = null, errors } = await admitted.run(variables);
  if (!errors && key && key.length < longestKey) introspections.set(key, { data });
  if (!errors) return { status: 200, result: { data } };
  return { status: 200, result: { errors: errors.map((error) => formatError(context, error)), data } };
}

/** Large results as JSON, as long as they are kept. */
const written = new WeakMap<object, string | Promise<Buffer>>();

/** Writes a result as JSON and a newline, as Apollo does by default: a large one in pieces, a small one by the faster way. */
function jsonOf(result: Body | FormattedExecutionResult): string | Promise<Buffer> {
  const { data } = result;
  if (data == null || !isLarge(data)) return `${JSON.stringify(result)}\n`;
  const text = written.get(data) ?? joinPieces(linePieces(result));
  written.set(data, text);
  return text;
}

function* linePieces(result: object): Pieces {
  return (yield* jsonPieces(result)) + "\n";
}

const needsStream = () =>
  new DomainError(
    "BAD_USER_INPUT",
    "Subscriptions run over a WebSocket at this path (sub-protocol graphql-transport-ws), or as server-sent events of the REST interface.",
  );

/** Formats an error of Apollo. All but defects are faults of the input, whatever code Apollo has for them. */
function oneCode({ message, locations, extensions }: GraphQLFormattedError): GraphQLFormattedError {
  const code = extensions?.code === "INTERNAL_SERVER_ERROR" ? "INTERNAL_SERVER_ERROR" : "BAD_USER_INPUT";
  const text = code === "INTERNAL_SERVER_ERROR" ? "An internal error occurred." : withoutLiterals(message);
  return { message: text, ...(locations && { locations }), extensions: { code } };
}
