import type { Server } from "node:http";
import { ApolloServer, type ApolloServerPlugin, HeaderMap } from "@apollo/server";
import { ApolloServerPluginCacheControlDisabled, ApolloServerPluginLandingPageDisabled } from "@apollo/server/plugin/disabled";
import { ApolloServerPluginDrainHttpServer } from "@apollo/server/plugin/drainHttpServer";
import { GraphQLError, type GraphQLFormattedError, type GraphQLSchema, NoSchemaIntrospectionCustomRule } from "graphql";
import { type Context, type Services } from "../context.js";
import { type DomainError } from "../domain/errors.js";
import { json, send } from "../http/answers.js";
import type { ContextOf, Http } from "../http/baseline.js";
import { readBody } from "../http/body.js";
import type { Documents } from "./documents.js";
import { formatError, translate } from "./errors.js";
import { limits, tokens } from "./limits.js";

/** Where GraphQL is served, over HTTP and WebSocket. */
export const graphqlPath = "/graphql";

/** GraphQL over HTTP: Apollo reads and validates requests, our executor runs them. */
export class GraphqlOverHttp {
  private constructor(
    private readonly apollo: ApolloServer<Context>,
    private readonly services: Services,
    private readonly contextOf: ContextOf,
  ) {}

  static async start(services: Services, schema: GraphQLSchema, documents: Documents, server: Server, contextOf: ContextOf) {
    const apollo = new ApolloServer<Context>({
      schema,
      introspection: true,
      validationRules: services.config.graphqlIntrospection ? [] : [NoSchemaIntrospectionCustomRule],
      parseOptions: { maxTokens: tokens },
      persistedQueries: false,
      formatError: oneCode,
      logger: services.log,
      stopOnTerminationSignals: false,
      includeStacktraceInErrorResponses: false,
      plugins: [
        ApolloServerPluginCacheControlDisabled(),
        ApolloServerPluginLandingPageDisabled(),
        ApolloServerPluginDrainHttpServer({ httpServer: server }),
        ownExecutor(documents),
      ],
    });
    await apollo.start();
    return new GraphqlOverHttp(apollo, services, contextOf);
  }

  /** Ends Apollo, and with it the HTTP server: running requests finish first. */
  stop = () => this.apollo.stop();

  /** Answers a request to `/graphql`. */
  answer = async (http: Http): Promise<void> => {
    let context: Context;
    try {
      context = await this.contextOf(http.req, http.state);
    } catch (error) {
      return this.#refuse(http, translate(error));
    }
    const headers = new HeaderMap();
    for (const name in http.headers) headers.set(name, String(http.headers[name]));
    const response = await this.apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        method: http.method,
        headers,
        search: http.search,
        body: http.method === "POST" ? await readBody(http.req, limits.requestBytes) : undefined,
      },
      context: async () => context,
    });
    const body = response.body.kind === "complete" ? response.body.string : "";
    send(http, { status: response.status ?? 200, headers: Object.fromEntries(response.headers), body });
  };

  /** A bad credential: the one failure of GraphQL that HTTP shows as well. */
  #refuse(http: Http, failure: DomainError): void {
    const facts = { log: this.services.log, request: http.state.facts };
    const error = formatError(facts, new GraphQLError(failure.message, { originalError: failure }));
    const status = failure.code === "UNAUTHENTICATED" ? 401 : failure.code === "FORBIDDEN" ? 403 : 503;
    if (status === 401) http.set("WWW-Authenticate", `Bearer realm="steward", error="invalid_token"`);
    send(http, { status, headers: json, body: JSON.stringify({ errors: [error] }) });
  }
}

/** Apollo resolved the operation; from here on it is ours. */
function ownExecutor(documents: Documents): ApolloServerPlugin<Context> {
  return {
    requestDidStart: async () => ({
      async responseForOperation({ document, operation: definition, queryHash, request, contextValue }) {
        if (!definition) return null;
        const operation = documents.operation(queryHash!, document!, request.operationName ?? undefined);
        const variables = request.variables ?? {};
        const answer = (status: number, singleResult: { data?: Record<string, unknown> | null; errors?: GraphQLFormattedError[] }) => ({
          http: { status, headers: new HeaderMap() },
          body: { kind: "single" as const, singleResult },
        });
        try {
          operation.check(variables);
        } catch (error) {
          const fault = new GraphQLError((error as Error).message, { originalError: error as Error });
          return answer(400, { errors: [formatError(contextValue, fault)] });
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

/** What Apollo finds wrong with a document or request is the caller's input, whatever Apollo calls it. */
function oneCode({ message, locations, extensions }: GraphQLFormattedError): GraphQLFormattedError {
  const code = extensions?.code === "INTERNAL_SERVER_ERROR" ? "INTERNAL_SERVER_ERROR" : "BAD_USER_INPUT";
  const said = code === "INTERNAL_SERVER_ERROR" ? "An internal error occurred." : message;
  return { message: said, ...(locations && { locations }), extensions: { code } };
}
