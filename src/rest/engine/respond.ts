import type { GraphQLSchema } from "graphql";
import { anonymous, Context, type Services } from "../../context.js";
import { type Answered, json, send, TransportError, transportFailure } from "../../http/answers.js";
import type { ContextOf, Http } from "../../http/baseline.js";
import { readBody } from "../../http/body.js";
import type { Variables } from "../../graphql/execute.js";
import { report, translate } from "../../graphql/errors.js";
import type { Row } from "./area.js";
import { type Binding, bindingOf } from "./bind.js";
import { sentCredential } from "./credentials.js";
import { apiFailure } from "./dialects.js";
import type { StoredOperation } from "./operation.js";
import { answerOf, type Write, writerOf } from "./render.js";

/** A row that is ready to answer. */
export interface Endpoint {
  readonly row: Row;
  readonly operation: StoredOperation;
  readonly binding: Binding;
  /** Lets the request in and reads it, in the order of the contract: limits, credential, scope, path, query, body. */
  admit(http: Http): Promise<{ ctx: Context; variables: Variables }>;
  /** Spells a failure as the row's surface does. */
  fail(http: Http, error: unknown, variables?: Variables): Answered;
}

export function endpointOf(
  services: Services,
  schema: GraphQLSchema,
  contextOf: ContextOf,
  row: Row,
  operation: StoredOperation,
): Endpoint {
  const binding = bindingOf(schema, row, operation);
  const { config } = services;
  const nobody = ({ state }: Http) => new Context(services, anonymous, state.facts, state.lifetime);

  async function admit(http: Http) {
    if (operation.triesSecrets) {
      services.passwords.requireRoom();
      await services.limits.countAddress(http.state.facts);
    }
    const found = operation.open ? nobody(http) : contextOf(http.req, http.state);
    const ctx = found instanceof Promise ? await found : found;
    operation.authenticate(ctx);
    if (!operation.triesSecrets) services.limits.countCaller(ctx);
    operation.admit(ctx);
    const body = binding.readsBody ? await readBody(http.req, config.bodyLimit) : {};
    const query = new URLSearchParams(http.querystring);
    return { ctx, variables: binding.variables({ path: http.params, query, headers: http.headers, body }) };
  }

  function fail(http: Http, error: unknown, variables: Variables = {}): Answered {
    if (error instanceof TransportError) return transportFailure(error);
    const failure = translate(error);
    report({ log: services.log, request: http.state.facts }, failure, error);
    return apiFailure(failure, {
      requestId: http.state.facts.id,
      accessUrl: config.accessUrl,
      needs: operation.needs,
      challenged: sentCredential(http.req, config.accessUrl),
      wireField: (field) => binding.wireField(field, variables),
    });
  }

  return { row, operation, binding, admit, fail };
}

/** Puts a message in front of the fields of an object. */
const saying = (message: string | undefined, write: Write): Write =>
  message === undefined ? write : (data) => `{"message":${JSON.stringify(message)},${write(data).slice(1)}`;

/** Puts what is written into an array of its own. */
const alone =
  (write: Write): Write =>
  (data) =>
    `[${write(data)}]`;

/** Answers a row's requests with the result of its query or mutation. */
export function respondWith(schema: GraphQLSchema, endpoint: Endpoint): (http: Http) => Promise<void> {
  const { row, operation } = endpoint;
  const [, , , status, options] = row;
  const answer = answerOf(schema, operation);
  const content = answer && saying(options?.message, writerOf(answer));
  const write = content && options?.oneElementArray ? alone(content) : content;

  return async (http) => {
    let variables: Variables | undefined;
    try {
      const admitted = await endpoint.admit(http);
      ({ variables } = admitted);
      const running = operation.run(admitted.ctx, variables);
      const result = running instanceof Promise ? await running : running;
      if (result.errors) throw result.errors[0];
      if (options?.successor) deprecate(http, options.successor);
      send(http, { status, headers: write ? json : {}, body: write ? write(result.data) : "" });
    } catch (error) {
      send(http, endpoint.fail(http, error, variables));
    }
  };
}

/** RFC 9745 and RFC 8288: says that the path is old and where its successor is. */
function deprecate(http: Http, successor: string): void {
  http.state.headers.Deprecation = "true";
  http.state.headers.Link = `<${successor.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(http.params[name] ?? "default"))}>; rel="successor-version"`;
}
