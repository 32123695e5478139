import { ApolloServer, type ApolloServerPlugin, HeaderMap } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from "@apollo/server/plugin/disabled";
import { GraphQLError, type GraphQLFormattedError, type GraphQLSchema, OperationTypeNode } from "graphql";
import type { Context, Services } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { json, TransportError } from "../../http/answers.js";
import { send, type ContextOf, type Http } from "../../http/exchange.js";
import { readBody, refuseEmpty } from "../../http/body.js";
import { challengeOf } from "../../http/challenge.js";
import { statusOf } from "../../http/statuses.js";
import type { Documents, ForeignOperation } from "./documents.js";
import { asGraphqlError, formatError, translate, withoutLiterals } from "./errors.js";
import type { Variables } from "./variables.js";
import { checkSize, limits, rulesFor, tokens } from "./limits.js";

/** Where GraphQL is served, over HTTP and WebSocket. */
export const graphqlPath = "/graphql";

/**
 * GraphQL over HTTP: Apollo reads and validates requests, our executor runs them. An operation that came before, in the
 * most usual form of request, goes to the executor at once: there is nothing left for Apollo to find.
 */
export class GraphqlOverHttp {
  private constructor(
    private readonly apollo: ApolloServer<Context>,
    private readonly documents: Documents,
    private readonly services: Services,
    private readonly contextOf: ContextOf,
  ) {}

  static async start(services: Services, schema: GraphQLSchema, documents: Documents, contextOf: ContextOf) {
    const apollo = new ApolloServer<Context>({
      schema,
      introspection: true,
      validationRules: rulesFor(services.config),
      parseOptions: { maxTokens: tokens },
      persistedQueries: false,
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
    return new GraphqlOverHttp(apollo, documents, services, contextOf);
  }

  /** Ends Apollo. By then nobody asks any more. */
  stop = () => this.apollo.stop();

  /** Answers a request to `/graphql`. */
  answer = async (http: Http): Promise<void> => {
    // Koa drops the body of what HEAD asks for.
    const method = http.method === "HEAD" ? "GET" : http.method;
    let context: Context;
    let body: Record<string, unknown> | undefined;
    try {
      context = await this.contextOf(http.req, http.state);
      this.services.limits.countCaller(context);
      body = method === "POST" ? ((await readBody(http.req, limits.requestBytes)) ?? refuseEmpty()) : undefined;
      checkSize(body?.query);
    } catch (error) {
      if (error instanceof TransportError) throw error;
      return this.#refuse(http, error);
    }
    const usual = body && speaksJson(http) ? usualRequest(body) : undefined;
    const known = usual && this.documents.known(usual.query, usual.operationName);
    if (known) {
      const { status, result } = await run(known, usual.variables, context);
      return send(http, { status, headers: json, body: `${JSON.stringify(result)}\n` });
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
    const text = response.body.kind === "complete" ? response.body.string : "";
    send(http, { status: response.status ?? 200, headers: Object.fromEntries(response.headers), body: text });
  };

  /** What fails before there is an operation, above all a bad credential, shows in the status as well. */
  #refuse(http: Http, thrown: unknown): void {
    const { config, log } = this.services;
    const failure = translate(thrown);
    const error = formatError(
      { log, request: http.state.facts },
      new GraphQLError(failure.message, { originalError: thrown as Error }),
    );
    const challenge = challengeOf(failure, { accessUrl: config.accessUrl, challenged: true });
    const { retryAfter } = failure.facts;
    const headers = {
      ...json,
      ...(challenge && { "WWW-Authenticate": challenge }),
      ...(retryAfter !== undefined && { "Retry-After": String(retryAfter) }),
    };
    send(http, { status: statusOf(failure), headers, body: JSON.stringify({ errors: [error] }) });
  }
}

/** Apollo resolved the operation; from here on it is ours. */
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
          if (extensions) extensions.requestId = contextValue.request.id;
        }
      },
    }),
  };
}

/** What a response says, in the order in which it does. */
interface Said {
  errors?: GraphQLFormattedError[];
  data?: Record<string, unknown> | null;
}

async function run(
  operation: ForeignOperation,
  variables: Variables,
  context: Context,
): Promise<{ status: number; result: Said }> {
  try {
    operation.admit(context);
    if (operation.kind === OperationTypeNode.SUBSCRIPTION) throw needsStream();
    operation.check(variables);
  } catch (error) {
    const errors = [formatError(context, asGraphqlError(error))];
    // Whoever may not ask is answered as by the operation itself, whatever the variables are.
    const isInput = translate(error).code === "BAD_USER_INPUT";
    return isInput ? { status: 400, result: { errors } } : { status: 200, result: { errors, data: null } };
  }
  const { data = null, errors } = await operation.run(context, variables);
  if (!errors) return { status: 200, result: { data } };
  return { status: 200, result: { errors: errors.map((error) => formatError(context, error)), data } };
}

const needsStream = () =>
  new DomainError(
    "BAD_USER_INPUT",
    "Subscriptions run over a WebSocket at this path (sub-protocol graphql-transport-ws), or as server-sent events of the REST interface.",
  );

/**
 * Whether the client sends and takes JSON by its plain name. Without a Content-Type, a page of another site may have sent
 * the request without a preflight: Apollo decides on those.
 */
const speaksJson = ({ headers: { accept, "content-type": type } }: Http) =>
  type !== undefined && (accept === undefined || accept === "*/*" || accept === "application/json");

interface UsualRequest {
  query: string;
  operationName: string | undefined;
  variables: Variables;
}

/** A request with nothing in it that Apollo would refuse or understand otherwise; nothing for any other. */
function usualRequest({
  query,
  operationName,
  variables,
  extensions,
}: Record<string, unknown>): UsualRequest | undefined {
  const isNamed = typeof operationName === "string" && operationName !== "";
  const isUsual =
    typeof query === "string" &&
    (isNamed || operationName == null) &&
    typeof (variables ?? {}) === "object" &&
    !Array.isArray(variables) &&
    extensions == null;
  if (!isUsual) return undefined;
  return { query, operationName: isNamed ? operationName : undefined, variables: (variables ?? {}) as Variables };
}

/** What Apollo finds wrong with a document or request is the caller's input, whatever Apollo calls it. */
function oneCode({ message, locations, extensions }: GraphQLFormattedError): GraphQLFormattedError {
  const code = extensions?.code === "INTERNAL_SERVER_ERROR" ? "INTERNAL_SERVER_ERROR" : "BAD_USER_INPUT";
  const said = code === "INTERNAL_SERVER_ERROR" ? "An internal error occurred." : withoutLiterals(message);
  return { message: said, ...(locations && { locations }), extensions: { code } };
}
