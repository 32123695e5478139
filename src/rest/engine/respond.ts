import { hash } from "node:crypto";
import type { GraphQLSchema } from "graphql";
import { Context, type Services } from "../../domain/kernel/context.js";
import { type Actor, anonymous } from "../../domain/kernel/actor.js";
import type { DomainError } from "../../domain/kernel/errors.js";
import { scopesOf } from "../../domain/authorization/authorization.js";
import { type HttpResponse, TransportError } from "../../http/responses.js";
import { send, type ContextOf, type Http } from "../../http/exchange.js";
import { bodyLimitOf, refuseEmpty } from "../../http/body.js";
import { joined } from "../../http/pieces.js";
import type { Variables } from "../../graphql/engine/variables.js";
import { report, translate } from "../../graphql/engine/errors.js";
import type { Row } from "./area.js";
import { type Binding, bindingOf } from "./bind.js";
import { actorOf, sentCredential, type Surface } from "../../http/credentials.js";
import type { Dialect } from "./dialects.js";
import type { Admitted } from "../../graphql/engine/execute.js";
import type { Result } from "../../graphql/engine/result.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { writerOf } from "./render.js";
import { type ResultShape, resultOf, step } from "./shapes.js";

/** A request that was let in and read. */
interface Received {
  ctx: Context;
  operation: Admitted;
  variables: Variables;
}

/** A row with its operation, ready to serve requests. */
export class Endpoint {
  readonly binding: Binding;
  readonly result: ResultShape;
  readonly #scopes: readonly string[];

  constructor(
    private readonly services: Services,
    schema: GraphQLSchema,
    private readonly contextOf: ContextOf,
    readonly row: Row,
    readonly operation: StoredOperation,
    readonly dialect: Dialect,
  ) {
    this.binding = bindingOf(row, operation);
    this.result = resultOf(schema, operation, row[4]);
    this.#scopes = scopesOf(operation.needs);
  }

  /** Admits a request and reads it, in the order of the contract: limits, credential, scope, path, query, body. */
  async admit(http: Http): Promise<Received> {
    const { operation, binding, services } = this;
    if (operation.triesSecrets === "passwords")
      services.passwords.requireRoom(operation.open ? "stranger" : "signedIn");
    if (operation.triesSecrets) await services.limits.countAddress(http.state.details);
    const found = this.#callerOf(http);
    const ctx = found instanceof Promise ? await found : found;
    const admitted = operation.admit(ctx, operation.triesSecrets ? undefined : this.#countCaller);
    const sent = binding.readsBody ? await this.#readBody(http, ctx.actor) : {};
    if (!sent && !this.row[4]?.bodyNotShown) refuseEmpty();
    const query = new URLSearchParams(http.querystring);
    const { params: path } = http.state;
    const variables = binding.variables({ path, query, headers: http.headers, body: sent ?? {} });
    return { ctx, operation: admitted, variables };
  }

  #readBody({ req }: Http, actor: Actor): Promise<Record<string, unknown> | undefined> {
    const { dialect, services } = this;
    const { config } = services;
    const limit = dialect.configuredLimit?.(config) ?? dialect.bodyLimit ?? config.bodyLimit;
    return dialect.readBody(req, bodyLimitOf(actor, limit));
  }

  #countCaller = (ctx: Context) => this.services.limits.countCaller(ctx);

  #callerOf(http: Http): Context | Promise<Context> {
    if (this.operation.open) return this.#contextFor(anonymous, http);
    const surface = this.row[4]?.redirects ? "page" : this.dialect.surface;
    return surface ? this.#from(surface, http) : this.contextOf(http.req, http.state);
  }

  async #from(surface: Surface, http: Http): Promise<Context> {
    return this.#contextFor(await actorOf(this.services, http.req, { surface }), http);
  }

  #contextFor(actor: Actor, { state }: Http): Context {
    return new Context(this.services, actor, state.details, state.lifetime);
  }

  /** Runs the query or mutation of a request. `respond` takes its data; `fail` what was thrown, and the usual response. */
  async run(
    http: Http,
    respond: (data: Result["data"]) => void | Promise<void>,
    fail: (error: unknown, failure: () => HttpResponse) => void = (_, failure) => send(http, failure()),
  ): Promise<void> {
    let variables: Variables | undefined;
    try {
      const admitted = await this.admit(http);
      ({ variables } = admitted);
      const running = admitted.operation.run(variables);
      const { data, errors } = running instanceof Promise ? await running : running;
      if (errors) throw errors[0];
      const responding = respond(data);
      if (responding) await responding;
    } catch (error) {
      fail(error, () => this.failure(http, error, variables));
    }
  }

  /** Spells a failure as the row's surface does. */
  failure(http: Http, error: unknown, variables: Variables = {}): HttpResponse {
    if (error instanceof TransportError) return this.dialect.transportFailure(error);
    const { log, config } = this.services;
    const failure = this.#limited(http, translate(error));
    report({ log, request: http.state.details }, failure, error);
    return this.dialect.failure(failure, {
      requestId: http.state.details.id,
      accessUrl: config.accessUrl,
      scopes: this.#scopes,
      challenged: sentCredential(http.req, config.accessUrl),
      wireField: (field) => this.binding.wireField(field, variables),
    });
  }

  /** Counts a failed authentication, where these are limited. Returns RATE_LIMITED instead if there were too many. */
  #limited({ state }: Http, failure: DomainError): DomainError {
    if (!this.dialect.limitsRejections || failure.code !== "UNAUTHENTICATED") return failure;
    try {
      this.services.limits.countRejection(state.details);
      return failure;
    } catch (error) {
      return error as DomainError;
    }
  }
}

/** Responds to a row's requests with the result of its query or mutation. */
export function respondWith(endpoint: Endpoint): (http: Http) => Promise<void> {
  const [, , , status, options] = endpoint.row;
  const { body: shape, headers: sent, isUnmodified } = endpoint.result;
  const { dialect } = endpoint;
  const write = shape && writerOf(shape, options?.oneElementArray);

  return (http) =>
    endpoint.run(http, (data) => {
      const headers = dialect.headersFor?.(http.req) ?? dialect.headers;
      if (options?.successor) deprecate(http, options.successor);
      for (const { name, from } of sent) http.state.headers[name] = String(from.reduce<unknown>(step, data));
      if (isUnmodified?.(data)) return send(http, { status: 304, headers: {}, body: "" });
      const without = options?.statusWithoutBody;
      if (without !== undefined && shape!.from.reduce<unknown>(step, data) == null)
        return send(http, { status: without, headers: {}, body: "" });
      // Clients that expect JSON check the media type even if there is nothing to read.
      if (!write) return send(http, { status, headers: status === 204 ? {} : headers, body: "" });
      const body = joined(write(data));
      if (typeof body === "string")
        return send(http, options?.tagged ? tagged(http, endpoint.dialect, body) : { status, headers, body });
      return body.then((large) => send(http, { status, headers, body: large }));
    });
}

/** The response with an entity tag, or 304 if the client has this body already (RFC 9110 §13.1.2). */
function tagged(http: Http, { headers }: Dialect, body: string): HttpResponse {
  const tag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  const known = http.get("if-none-match").split(",");
  const isKnown = known.some((each) => ["*", tag, `W/${tag}`].includes(each.trim()));
  return { status: isKnown ? 304 : 200, headers: { ...headers, ETag: tag }, body: isKnown ? "" : body };
}

/** Marks the path as deprecated (RFC 9745) and links its successor (RFC 8288). */
function deprecate(http: Http, successor: string): void {
  http.state.headers.Deprecation = "true";
  http.state.headers.Link = `<${successor.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(http.state.params[name] ?? "default"))}>; rel="successor-version"`;
}
