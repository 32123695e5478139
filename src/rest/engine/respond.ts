import type { GraphQLSchema } from "graphql";
import { Context, type Services } from "../../domain/kernel/context.js";
import { type Actor, anonymous } from "../../domain/kernel/actor.js";
import { scopesOf } from "../../domain/authorization/authorization.js";
import { type Answered, json, TransportError, transportFailure } from "../../http/answers.js";
import { send, type ContextOf, type Http } from "../../http/exchange.js";
import { readBody, refuseEmpty } from "../../http/body.js";
import type { Variables } from "../../graphql/engine/variables.js";
import { report, translate } from "../../graphql/engine/errors.js";
import type { Row } from "./area.js";
import { type Binding, bindingOf } from "./bind.js";
import { actorOf, sentCredential } from "../../http/credentials.js";
import { apiFailure } from "./dialects.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { answerOf, unmodifiedBy, type Write, writerOf } from "./render.js";

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
  const scopes = scopesOf(operation.needs);
  const contextFor = (actor: Actor, { state }: Http) => new Context(services, actor, state.facts, state.lifetime);
  const visitor = async (http: Http) => contextFor(await actorOf(services, http.req, {}), http);

  function callerOf(http: Http): Context | Promise<Context> {
    if (operation.open) return contextFor(anonymous, http);
    return row[4]?.redirects ? visitor(http) : contextOf(http.req, http.state);
  }

  async function admit(http: Http) {
    if (operation.triesSecrets) {
      services.passwords.requireRoom(operation.open ? "stranger" : "signedIn");
      await services.limits.countAddress(http.state.facts);
    }
    const found = callerOf(http);
    const ctx = found instanceof Promise ? await found : found;
    operation.authenticate(ctx);
    if (!operation.triesSecrets) services.limits.countCaller(ctx);
    operation.admit(ctx);
    const sent = binding.readsBody ? await readBody(http.req, config.bodyLimit) : {};
    if (!sent && !row[4]?.bodyNotShown) refuseEmpty();
    const query = new URLSearchParams(http.querystring);
    const { params: path } = http.state;
    const variables = binding.variables({ path, query, headers: http.headers, body: sent ?? {} });
    return { ctx, variables };
  }

  function fail(http: Http, error: unknown, variables: Variables = {}): Answered {
    if (error instanceof TransportError) return transportFailure(error);
    const failure = translate(error);
    report({ log: services.log, request: http.state.facts }, failure, error);
    return apiFailure(failure, {
      requestId: http.state.facts.id,
      accessUrl: config.accessUrl,
      scopes,
      challenged: sentCredential(http.req, config.accessUrl),
      wireField: (field) => binding.wireField(field, variables),
    });
  }

  return { row, operation, binding, admit, fail };
}

/** Puts a message in front of the fields of an object; without one it is all there is. */
function saying(message: string | undefined, write: Write | undefined): Write | undefined {
  if (message === undefined) return write;
  const said = `{"message":${JSON.stringify(message)}`;
  return (data) => (write ? `${said},${write(data).slice(1)}` : `${said}}`);
}

/** Puts what is written into an object, as a field of it. */
const asField = (name: string | undefined, write: Write | undefined): Write | undefined =>
  write && name !== undefined ? (data) => `{${JSON.stringify(name)}:${write(data)}}` : write;

/** Puts what is written into an array of its own. */
const alone =
  (write: Write): Write =>
  (data) =>
    `[${write(data)}]`;

/** Answers a row's requests with the result of its query or mutation. */
export function respondWith(schema: GraphQLSchema, endpoint: Endpoint): (http: Http) => Promise<void> {
  const { row, operation } = endpoint;
  const [, , , status, options] = row;
  const answer = answerOf(schema, operation, options?.withheld);
  const content = saying(options?.message, asField(options?.under, answer && writerOf(answer)));
  const write = content && options?.oneElementArray ? alone(content) : content;
  const isUnmodified = unmodifiedBy(schema, operation);

  return async (http) => {
    let variables: Variables | undefined;
    try {
      const admitted = await endpoint.admit(http);
      ({ variables } = admitted);
      const running = operation.run(admitted.ctx, variables);
      const result = running instanceof Promise ? await running : running;
      if (result.errors) throw result.errors[0];
      if (isUnmodified?.(result.data)) return send(http, { status: 304, headers: {}, body: "" });
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
  http.state.headers.Link = `<${successor.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(http.state.params[name] ?? "default"))}>; rel="successor-version"`;
}
