import { ApolloServer, type ApolloServerPlugin, HeaderMap } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from "@apollo/server/plugin/disabled";
import { GraphQLError, type GraphQLFormattedError, type GraphQLSchema } from "graphql";
import { type Context, type Services } from "../context.js";
import { json, send, TransportError } from "../http/answers.js";
import type { ContextOf, Http } from "../http/baseline.js";
import { readBody } from "../http/body.js";
import { challengeOf } from "../http/challenge.js";
import { statusOf } from "../http/statuses.js";
import type { Documents } from "./documents.js";
import { formatError, translate, withoutLiterals } from "./errors.js";
import { checkSize, limits, rulesFor, tokens } from "./limits.js";

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
    return new GraphqlOverHttp(apollo, services, contextOf);
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
      body = method === "POST" ? await readBody(http.req, limits.requestBytes) : undefined;
      checkSize(body?.query);
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
      async responseForOperation({ document, operation: definition, queryHash, request, contextValue }) {
        if (!definition) return null;
        const operation = documents.operation(queryHash!, document, request.operationName ?? undefined);
        const variables = request.variables ?? {};
        try {
          operation.admit(contextValue);
          operation.check(variables);
        } catch (error) {
          const fault = new GraphQLError((error as Error).message, { originalError: error as Error });
          const errors = [formatError(contextValue, fault)];
          // Whoever may not ask is answered as by the operation itself, whatever the variables are.
          return translate(error).code === "BAD_USER_INPUT"
            ? answer(400, { errors })
            : answer(200, { errors, data: null });
        }
        const { data = null, errors } = await operation.run(contextValue, variables);
        if (!errors) return answer(200, { data });
        return answer(200, { errors: errors.map((error) => formatError(contextValue, error)), data });
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

type SingleResult = { data?: Record<string, unknown> | null; errors?: GraphQLFormattedError[] };

const answer = (status: number, singleResult: SingleResult) => ({
  http: { status, headers: new HeaderMap() },
  body: { kind: "single" as const, singleResult },
});

/** What Apollo finds wrong with a document or request is the caller's input, whatever Apollo calls it. */
function oneCode({ message, locations, extensions }: GraphQLFormattedError): GraphQLFormattedError {
  const code = extensions?.code === "INTERNAL_SERVER_ERROR" ? "INTERNAL_SERVER_ERROR" : "BAD_USER_INPUT";
  const said = code === "INTERNAL_SERVER_ERROR" ? "An internal error occurred." : withoutLiterals(message);
  return { message: said, ...(locations && { locations }), extensions: { code } };
}
