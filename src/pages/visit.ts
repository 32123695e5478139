import type { IncomingMessage } from "node:http";
import type { GraphQLSchema } from "graphql";
import { Context, type Services } from "../domain/kernel/context.js";
import { anonymous } from "../domain/kernel/actor.js";
import { DomainError } from "../domain/kernel/errors.js";
import {
  passwordChangeRequired,
  requireChangedPassword,
  requireFactor,
  requireOneOf,
  secondFactorRequired,
} from "../graphql/engine/access.js";
import { failureOf, report, translate } from "../graphql/engine/errors.js";
import type { Variables } from "../graphql/engine/variables.js";
import { readForm } from "../http/body.js";
import { clearCookie, type CookieOptions, setCookie } from "../http/cookies.js";
import { statusOf, titleOf, TransportError } from "../http/errors.js";
import { type Http, type Middleware, redirect } from "../http/exchange.js";
import { actorOf, sessionCookie } from "../http/credentials.js";
import { csrfCookie, csrfTokenOf } from "../http/csrf.js";
import { type StoredOperation, storedOperations } from "../graphql/engine/stored-operations.js";
import { type Html, html } from "./html.js";
import { alarm, type Brand, builtInBrand, documentOf, type Page } from "./layout.js";
import { pagePolicy, withImage } from "./content-security-policy.js";

/** A page with its own document and content security policy. */
interface OwnDocument {
  document: Html;
  policy: string;
}

/** A page with its status, 200 by default, and where its forms may lead besides this server, as a source of the policy. */
export type StatusPage = Page & { status?: number; formAction?: string };

/** The result of a visit: a page or a redirect, with status 303 by default. */
export type Outcome = StatusPage | OwnDocument | Redirect;

export type PageHandler = (visit: Visit) => Promise<Outcome>;

/** Handles requests for a page that is a row of the REST contract. `variables` are the parameters in the query. */
export type RowPage = (visit: Visit, ctx: Context, variables: Variables) => Promise<Outcome>;

/** Makes the pages of an area of the REST contract, by the name of the operation in the row. */
export type RowPages = (operation: (name: string) => StoredOperation) => Record<string, RowPage>;

interface Appearance {
  applicationName: string;
  logoUrl: string;
  announcementBanners?: ReadonlyArray<{ enabled: boolean; message: string }>;
}

const brandOf = ({ applicationName, logoUrl, announcementBanners = [] }: Appearance): Brand => ({
  name: applicationName || builtInBrand.name,
  logoUrl,
  banners: announcementBanners.flatMap(({ enabled, message }) => (enabled ? message : [])),
});

/** The pages of a deployment: what they are made of, and how they look. */
export class Site {
  readonly #operations: ReadonlyMap<string, StoredOperation>;

  constructor(
    readonly services: Services,
    schema: GraphQLSchema,
  ) {
    this.#operations = storedOperations(schema, "pages/branding");
  }

  /** How a page looks: banners are for users. If that cannot be read, as while Postgres is away, it looks as without it. */
  async brandFor(visit: Visit): Promise<Brand> {
    // The log names the operation of the page.
    const { details } = visit.http.state;
    const { operation } = details;
    try {
      const { user } = visit;
      if (!user) return await this.#brandForVisitors(visit);
      return brandOf((await perform<{ appearance: Appearance }>(this.#operation("UserBranding"), user)).appearance);
    } catch (error) {
      if (!(error instanceof DomainError)) return builtInBrand;
      // Users who must change their password first may read nothing else.
      return await this.#brandForVisitors(visit).catch(() => builtInBrand);
    } finally {
      details.operation = operation;
    }
  }

  async #brandForVisitors(visit: Visit): Promise<Brand> {
    const read = perform<{ serverInfo: { branding: Appearance } }>;
    return brandOf((await read(this.#operation("VisitorBranding"), visit.anonymous())).serverInfo.branding);
  }

  #operation = (name: string): StoredOperation => this.#operations.get(name)!;
}

/** One request for a page by a browser. */
export class Visit {
  readonly query: URLSearchParams;
  /** The context of the caller, if that is a user who is known by now. */
  user: Context | undefined;

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
    if (!addingPaths.has(this.http.path)) requireFactor(actor);
    const ctx = this.#context(actor);
    if (actor.kind === "user") this.user = ctx;
    return ctx;
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

  /** The context of a session that this request has begun. */
  async begun(token: string): Promise<Context> {
    return this.#context(await this.services.credentials.authenticateUser(token));
  }

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

/** Where users look after their second factor. */
export const secondFactorPath = "/account/second-factor";

/** The paths of users who must add a second factor first. */
const addingPaths: ReadonlySet<string> = new Set([secondFactorPath, ...changingPaths]);

/** Where users do what they must do before anything else, by the reason of the failure. */
const firstPaths: Readonly<Record<string, string>> = {
  [passwordChangeRequired]: passwordPath,
  [secondFactorRequired]: secondFactorPath,
};

/** The page at which users do what a failure says that they must do first, and go on from there. */
function firstPageFor({ method, path, originalUrl }: Http, error: unknown): Redirect | undefined {
  const { reason = "" } = error instanceof DomainError ? error.details : {};
  const first = Object.hasOwn(firstPaths, reason) ? firstPaths[reason] : undefined;
  return first === undefined
    ? undefined
    : { goTo: withReturnTo(first, ownPath(method === "GET" ? originalUrl : path)) };
}

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
export const signInFirst = ({ originalUrl }: Pick<Http, "originalUrl">): Redirect => ({
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
    site: Site,
    handler: PageHandler,
    readBody: (request: IncomingMessage) => Promise<URLSearchParams> = readForm,
  ): Middleware =>
  async (http) => {
    const form = http.method === "POST" ? await readBody(http.req) : new URLSearchParams();
    const visit = new Visit(site.services, http, form);
    await show(http, await handler(visit), () => site.brandFor(visit));
  };

/** A request for a page that is a row of the REST contract. */
interface RowRequest {
  operation: StoredOperation;
  form: URLSearchParams;
  variables: () => Variables;
}

/** Responds to the requests of such a page. Callers are rejected before the query is read. */
export const visitedRow =
  (site: Site, page: RowPage) =>
  async (http: Http, { operation, form, variables }: RowRequest): Promise<void> => {
    const visit = new Visit(site.services, http, form);
    const ctx = await visit.caller();
    operation.admit(ctx);
    await show(http, await page(visit, ctx, variables()), () => site.brandFor(visit));
  };

/** Error middleware of pages. */
export const pageErrors =
  (site: Site): Middleware =>
  async (http, next) => {
    try {
      await next();
    } catch (error) {
      const first = firstPageFor(http, error);
      if (first) goTo(http, first);
      else await fail(site, http, error);
    }
  };

/**
 * Error middleware of what browsers and other clients request. It responds by the redirect that the error asks for, and to
 * browsers by the sign-in page or an error page. The errors of other clients are left to the middleware before it.
 */
export const browserErrors =
  (site: Site): Middleware =>
  async (http, next) => {
    try {
      await next();
    } catch (error) {
      const { code, details } = translate(error);
      const first = firstPageFor(http, error);
      if (details.redirectUri !== undefined) goTo(http, { goTo: details.redirectUri, status: 302 });
      else if (http.accepts("json", "html") !== "html") throw error;
      else if (code === "UNAUTHENTICATED") goTo(http, signInFirst(http));
      else if (first) goTo(http, first);
      else await fail(site, http, error);
    }
  };

interface Redirect {
  goTo: string;
  status?: 302 | 303;
}

const notStored = { "Cache-Control": "no-store", Pragma: "no-cache" };

function goTo(http: Http, { goTo: to, status = 303 }: Redirect): void {
  http.set(notStored);
  redirect(http, status, to);
}

async function show(http: Http, outcome: Outcome, readBrand: () => Promise<Brand>): Promise<void> {
  if ("goTo" in outcome) return goTo(http, outcome);
  const brand = await readBrand();
  const isOwn = "document" in outcome;
  http.set(notStored);
  http.status = isOwn ? 200 : (outcome.status ?? 200);
  http.type = "html";
  http.set({
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": withImage(
      isOwn ? outcome.policy : pagePolicy(outcome.formAction, outcome.script !== undefined),
      brand.logoUrl,
    ),
  });
  http.body = (isOwn ? outcome.document : documentOf(outcome, brand)).text;
}

/** Logs a failure, and shows its status, its message, and the request id, for support. */
async function fail(site: Site, http: Http, error: unknown): Promise<void> {
  const { log } = site.services;
  const { details: request } = http.state;
  if (!(error instanceof TransportError)) report({ log, request }, translate(error), error);
  const { status, title, detail, headers } = describeFailure(error);
  http.set(headers);
  const brand = await site.brandFor(new Visit(site.services, http, new URLSearchParams()));
  const main = html`${alarm(detail)}
    <p class="faint">Status ${status} · Request id <code>${request.id}</code></p>
    <a class="button" href="/">Back to ${brand.name}</a>`;
  await show(http, { status, title, main }, () => Promise.resolve(brand));
}

function describeFailure(thrown: unknown) {
  if (thrown instanceof TransportError) {
    const { status, detail, headers } = thrown;
    return { status, title: titleOf(thrown), detail, headers };
  }
  const failure = translate(thrown);
  const { detail, retryAfter, validations = [] } = failure.details;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  const faults = validations.map(({ field, detail: rule }) => `${field}: ${rule}`).join(" ");
  return { status: statusOf(failure), title: failure.message, detail: detail ?? (faults || undefined), headers };
}
