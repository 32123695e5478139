import type { IncomingMessage } from "node:http";
import { Context, type Services } from "../domain/kernel/context.js";
import { anonymous } from "../domain/kernel/actor.js";
import { DomainError } from "../domain/kernel/errors.js";
import { passwordChangeRequired, requireChangedPassword, requireOneOf } from "../graphql/engine/access.js";
import { failureOf, report, translate } from "../graphql/engine/errors.js";
import type { Variables } from "../graphql/engine/variables.js";
import { readForm } from "../http/body.js";
import { clearCookie, type CookieOptions, setCookie } from "../http/cookies.js";
import { statusOf, TransportError } from "../http/errors.js";
import { type Http, type Middleware, redirect } from "../http/exchange.js";
import { actorOf, sessionCookie } from "../http/credentials.js";
import { csrfCookie, csrfTokenOf } from "../http/csrf.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { type Html, html } from "./html.js";
import { alarm, documentOf, type Page } from "./layout.js";
import { pagePolicy } from "./content-security-policy.js";

/** A page with its own document and content security policy. */
interface OwnDocument {
  document: Html;
  policy: string;
}

/** A page with its status, 200 by default, and where its forms may lead besides this server, as a source of the policy. */
export type StatusPage = Page & { status?: number; formAction?: string };

/** The result of a visit: a page or a redirect, with status 303 by default. */
export type Outcome = StatusPage | OwnDocument | { goTo: string; status?: 302 | 303 };

export type PageHandler = (visit: Visit) => Promise<Outcome>;

/** Handles requests for a page that is a row of the REST contract. `variables` are the parameters in the query. */
export type RowPage = (visit: Visit, ctx: Context, variables: Variables) => Promise<Outcome>;

/** Makes the pages of an area of the REST contract, by the name of the operation in the row. */
export type RowPages = (operation: (name: string) => StoredOperation) => Record<string, RowPage>;

/** One request for a page by a browser. */
export class Visit {
  readonly query: URLSearchParams;

  constructor(
    readonly services: Services,
    readonly http: Http,
    /** The fields of a submitted form. */
    readonly form: URLSearchParams,
  ) {
    this.query = new URLSearchParams(http.querystring);
  }

  /** The context of an anonymous caller, for open operations. */
  anonymous = (): Context => this.#context(anonymous);

  /**
   * The context of the caller. Throws UNAUTHENTICATED for a bad credential, and FORBIDDEN for a form without its CSRF token
   * or with the access token of an application: forms are decisions of users. So it does for users who must change their
   * password first, whom `show` leads to the page for it, except where they do that.
   */
  async caller(): Promise<Context> {
    const csrfToken = this.form.get("csrf_token") ?? undefined;
    const actor = await actorOf(this.services, this.http.req, { surface: "page", csrfToken });
    if (this.http.method === "POST") requireOneOf(["session", "token", "application"], actor);
    if (!changingPaths.has(this.http.path)) requireChangedPassword(actor);
    return this.#context(actor);
  }

  /** The same, but anonymous for a bad credential. */
  async context(): Promise<Context> {
    try {
      return await this.caller();
    } catch (error) {
      if (error instanceof DomainError && error.code === "UNAUTHENTICATED") return this.anonymous();
      throw error;
    }
  }

  #context = (actor: Context["actor"]): Context =>
    new Context(this.services, actor, this.http.state.details, this.http.state.lifetime);

  /** The attributes of cookies. */
  get cookies(): CookieOptions {
    return { isSecure: this.services.config.accessUrl.startsWith("https:") };
  }

  beginSession(token: string): void {
    setCookie(this.http, sessionCookie, token, this.cookies);
    setCookie(this.http, csrfCookie, csrfTokenOf(token), { ...this.cookies, isReadable: true });
  }

  endSession(): void {
    clearCookie(this.http, sessionCookie, this.cookies);
    clearCookie(this.http, csrfCookie, { ...this.cookies, isReadable: true });
  }
}

/** Where users change their password, and where password managers lead them. */
export const passwordPath = "/account/password";

/** The paths of users who must change their password first. */
const changingPaths: ReadonlySet<string> = new Set([passwordPath, "/logout"]);

/** The page at which users change a password that they must change first, and go on from there. */
const changeFirst = ({ method, path, originalUrl }: Http): Outcome => ({
  goTo: withReturnTo(passwordPath, ownPath(method === "GET" ? originalUrl : path)),
});

const asksForChange = (error: unknown): boolean =>
  error instanceof DomainError && error.details.reason === passwordChangeRequired;

/** Characters; enough for any authorization request of an application. It fits into the header of a request. */
const longest = 8192;

/**
 * The path to show after sign-in: `wanted` if it is a path of this server, otherwise the front page. It begins with
 * exactly one slash, so that no browser reads it as another host.
 */
export const ownPath = (wanted: string | null): string =>
  wanted !== null && wanted.length <= longest && wanted.isWellFormed() && /^\/(?!\/)[^\\\p{Cc}]*$/u.test(wanted)
    ? wanted.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
    : "/";

/** A path of a page with the path to show after sign-in. */
export const withReturnTo = (path: string, returnTo: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams({ return_to: returnTo }).toString()}`;

/** The sign-in page, which leads back to the request. */
export const signInFirst = ({ originalUrl }: Pick<Http, "originalUrl">): Outcome => ({
  goTo: withReturnTo("/login", ownPath(originalUrl)),
});

/** Runs a handler for signed-in users. Others sign in first, and return with all parameters. */
export const signedIn =
  (handler: (visit: Visit, ctx: Context) => Promise<Outcome>): PageHandler =>
  async (visit) => {
    const ctx = await visit.context();
    if (ctx.actor.kind === "user") return handler(visit, ctx);
    const returnTo = visit.http.method === "GET" ? visit.http.originalUrl : visit.http.path;
    return { goTo: withReturnTo("/login", ownPath(returnTo)) };
  };

/** The CSRF token of a session as a form field. */
export const csrfField = (sessionToken: string) =>
  html`<input type="hidden" name="csrf_token" value="${csrfTokenOf(sessionToken)}" />`;

/** Runs a stored operation. Throws its first error. */
export async function perform<Data>(
  operation: StoredOperation,
  ctx: Context,
  variables: Variables = {},
): Promise<Data> {
  const { data, errors } = await operation.admit(ctx).run(variables);
  if (errors) throw failureOf(ctx, errors[0]);
  return data as Data;
}

/** Responds to the requests of a page with the outcome of its handler. */
export const visited =
  (
    services: Services,
    handler: PageHandler,
    readBody: (request: IncomingMessage) => Promise<URLSearchParams> = readForm,
  ): Middleware =>
  async (http) => {
    const form = http.method === "POST" ? await readBody(http.req) : new URLSearchParams();
    show(http, await handler(new Visit(services, http, form)));
  };

/** A request for a page that is a row of the REST contract. */
interface RowRequest {
  operation: StoredOperation;
  form: URLSearchParams;
  variables: () => Variables;
}

/** Responds to the requests of such a page. Callers are rejected before the query is read. */
export const visitedRow =
  (services: Services, page: RowPage) =>
  async (http: Http, { operation, form, variables }: RowRequest): Promise<void> => {
    const visit = new Visit(services, http, form);
    const ctx = await visit.caller();
    operation.admit(ctx);
    show(http, await page(visit, ctx, variables()));
  };

/** Error middleware of pages. */
export const pageErrors =
  (services: Services): Middleware =>
  async (http, next) => {
    try {
      await next();
    } catch (error) {
      if (asksForChange(error)) show(http, changeFirst(http));
      else fail(services, http, error);
    }
  };

/**
 * Error middleware of what browsers and other clients request. It responds by the redirect that the error asks for, and to
 * browsers by the sign-in page or an error page. The errors of other clients are left to the middleware before it.
 */
export const browserErrors =
  (services: Services): Middleware =>
  async (http, next) => {
    try {
      await next();
    } catch (error) {
      const { code, details } = translate(error);
      if (details.redirectUri !== undefined) show(http, { goTo: details.redirectUri, status: 302 });
      else if (http.accepts("json", "html") !== "html") throw error;
      else if (code === "UNAUTHENTICATED") show(http, signInFirst(http));
      else if (asksForChange(error)) show(http, changeFirst(http));
      else fail(services, http, error);
    }
  };

function show(http: Http, outcome: Outcome): void {
  http.set({ "Cache-Control": "no-store", Pragma: "no-cache" });
  if ("goTo" in outcome) return redirect(http, outcome.status ?? 303, outcome.goTo);
  const isOwn = "document" in outcome;
  http.status = isOwn ? 200 : (outcome.status ?? 200);
  http.type = "html";
  http.set({
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": isOwn ? outcome.policy : pagePolicy(outcome.formAction),
  });
  http.body = (isOwn ? outcome.document : documentOf(outcome)).text;
}

/** Logs a failure, and shows its status, its message, and the request id, for support. */
function fail({ log }: Services, http: Http, error: unknown): void {
  const { details: request } = http.state;
  if (!(error instanceof TransportError)) report({ log, request }, translate(error), error);
  const { status, title, detail, headers } = describeFailure(error);
  http.set(headers);
  const main = html`${alarm(detail)}
    <p class="faint">Status ${status} · Request id <code>${request.id}</code></p>
    <a class="button" href="/">Back to Steward</a>`;
  show(http, { status, title, main });
}

function describeFailure(thrown: unknown) {
  if (thrown instanceof TransportError) {
    const { status, message: title, detail, headers } = thrown;
    return { status, title, detail, headers };
  }
  const failure = translate(thrown);
  const { detail, retryAfter, validations = [] } = failure.details;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  const faults = validations.map(({ field, detail: rule }) => `${field}: ${rule}`).join(" ");
  return { status: statusOf(failure), title: failure.message, detail: detail ?? (faults || undefined), headers };
}
