import type { GraphQLSchema } from "graphql";
import { scopesOf } from "../../domain/authorization/authorization.js";
import { anonymous } from "../../domain/kernel/actor.js";
import { Context, type Services } from "../../domain/kernel/context.js";
import type { Admitted } from "../../graphql/engine/execute.js";
import { memoize } from "../../graphql/engine/memoized.js";
import type { Result } from "../../graphql/engine/result.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import type { Variables } from "../../graphql/engine/variables.js";
import { bodyLimitOf, refuseEmpty } from "../../http/body.js";
import { actorOf } from "../../http/credentials.js";
import type { ContextOf, Http, Middleware } from "../../http/exchange.js";
import { redirects, type Route } from "./area.js";
import { type Binding, bindingOf } from "./bind.js";
import { errorsIn } from "./dialects.js";
import { type ResultShape, resultOf } from "./shapes.js";

/** A request that was let in and read. */
interface Received {
  ctx: Context;
  operation: Admitted;
  variables: Variables;
}

interface Form {
  binding: Binding;
  result: ResultShape;
}

/** The forms of rows, by what they read and write. They depend on no server, and are derived once for all servers of a process. */
const formsOf = memoize((_schema: GraphQLSchema) => new Map<Route, Form>());

function formOf(schema: GraphQLSchema, route: Route, operation: StoredOperation): Form {
  const forms = formsOf(schema);
  const form = forms.get(route) ?? {
    binding: bindingOf(route, operation),
    result: resultOf(schema, operation, route.options),
  };
  forms.set(route, form);
  return form;
}

/** A row with its operation, ready to serve requests. */
export class Endpoint {
  readonly binding: Binding;
  readonly result: ResultShape;
  /** Responds to errors in the dialect of the row. */
  readonly errors: Middleware;

  constructor(
    readonly services: Services,
    schema: GraphQLSchema,
    private readonly contextOf: ContextOf,
    readonly route: Route,
    readonly operation: StoredOperation,
  ) {
    ({ binding: this.binding, result: this.result } = formOf(schema, route, operation));
    const wireField = (field: string, variables: Variables) => this.binding.wireField(field, variables);
    this.errors = errorsIn(route.dialect, services, { scopes: scopesOf(operation.needs), wireField });
  }

  /** Admits a request and reads it, in the order of the contract: limits, credential, scope, path, query, body. */
  async admit(http: Http): Promise<Received> {
    const { operation, services } = this;
    if (operation.triesSecrets === "passwords")
      services.passwords.requireRoom(operation.open ? "stranger" : "signedIn");
    if (operation.countsFailures) {
      services.limits.checkAddress(http.state.details);
      return this.#read(http).catch((error: unknown) => this.#countFailure(http, error));
    }
    if (operation.triesSecrets) await services.limits.countAddress(http.state.details);
    return this.#read(http);
  }

  async #read(http: Http): Promise<Received> {
    const { operation } = this;
    const ctx = await this.#callerOf(http);
    const admitted = operation.admit(ctx, operation.triesSecrets ? undefined : this.#countCaller);
    const variables = this.variablesOf(http, await this.#bodyOf(http, ctx));
    http.state.variables = variables;
    return { ctx, operation: admitted, variables };
  }

  /** Counts a request by its address that cannot be read, as one with a wrong secret. */
  async #countFailure({ state }: Http, error: unknown): Promise<never> {
    await this.services.limits.countAddress(state.details);
    throw error;
  }

  /** Reads the variables of the operation from a request. */
  variablesOf({ params: path, querystring, headers }: Http, body: Record<string, unknown>): Variables {
    return this.binding.variables({ path, query: new URLSearchParams(querystring), headers, body });
  }

  /** Runs the query or mutation of a request. Throws its first error. */
  async run(http: Http): Promise<Result["data"]> {
    const { operation, variables } = await this.admit(http);
    const { data, errors } = await operation.run(variables);
    if (errors) throw errors[0];
    return data;
  }

  async #bodyOf({ req }: Http, { actor }: Context): Promise<Record<string, unknown>> {
    const { binding, route, services } = this;
    if (!binding.readsBody) return {};
    const limit = bodyLimitOf(actor, route.dialect.bodyLimit(services.config));
    const sent = await route.dialect.readBody(req, limit);
    if (!sent && !route.options.isBodyHidden) refuseEmpty();
    return sent ?? {};
  }

  #countCaller = (ctx: Context) => this.services.limits.countCaller(ctx);

  async #callerOf({ req, state }: Http): Promise<Context> {
    const { services, route, operation } = this;
    const surface = redirects(route) ? "page" : route.dialect.surface;
    if (!operation.open && !surface) return this.contextOf(req, state);
    const actor = operation.open ? anonymous : await actorOf(services, req, { surface: surface! });
    return new Context(services, actor, state.details, state.lifetime);
  }
}
