import type { IncomingMessage } from "node:http";
import { Context, type Services } from "../domain/kernel/context.js";
import { anonymous } from "../domain/kernel/actor.js";
import { DomainError } from "../domain/kernel/errors.js";
import { failureOf, report, translate } from "../graphql/engine/errors.js";
import type { Variables } from "../graphql/engine/variables.js";
import { TransportError } from "../http/responses.js";
import { send, type Http } from "../http/exchange.js";
import { clearCookie, type CookieOptions, setCookie } from "../http/cookies.js";
import { readForm } from "../http/form.js";
import { statusOf } from "../http/statuses.js";
import { actorOf, csrfCookie, csrfTokenOf, sessionCookie } from "../http/credentials.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { type Html, html } from "./html.js";
import { alarm, documentOf, type Page } from "./layout.js";
import { ownPath, withReturnTo } from "./return-to.js";

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

  /** The context of the caller. Throws UNAUTHENTICATED for a bad credential, FORBIDDEN for a form without its CSRF token. */
  async caller(): Promise<Context> {
    const csrfToken = this.form.get("csrf_token") ?? undefined;
    return this.#context(await actorOf(this.services, this.http.req, { surface: "page", csrfToken }));
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
    return { secure: this.services.config.accessUrl.startsWith("https:") };
  }

  beginSession(token: string): void {
    setCookie(this.http, sessionCookie, token, this.cookies);
    setCookie(this.http, csrfCookie, csrfTokenOf(token), { ...this.cookies, readable: true });
  }

  endSession(): void {
    clearCookie(this.http, sessionCookie, this.cookies);
    clearCookie(this.http, csrfCookie, { ...this.cookies, readable: true });
  }
}

/** The sign-in page, which leads back to the request. */
export const signInFirst = ({ originalUrl }: Pick<Http, "originalUrl">): Outcome => ({
  goTo: withReturnTo("/login", ownPath(originalUrl)),
});

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

/** No scripts, only our own style, nothing from other origins, and no framing. */
const policyOf = (formAction = "") =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    `form-action 'self' ${formAction}`.trim(),
  ].join("; ");

/** Makes a route handler: it sends the outcome of a visit, or a page for its failure. */
export function visited(
  services: Services,
  handler: PageHandler,
  readBody: (request: IncomingMessage) => Promise<URLSearchParams> = readForm,
): (http: Http) => Promise<void> {
  return async (http) => {
    try {
      const form = http.method === "POST" ? await readBody(http.req) : new URLSearchParams();
      show(http, await handler(new Visit(services, http, form)));
    } catch (error) {
      fail(services, http, error);
    }
  };
}

/** Logs a failure and shows it. */
export function fail({ log }: Services, http: Http, error: unknown): void {
  if (!(error instanceof TransportError)) report({ log, request: http.state.details }, translate(error), error);
  showFailure(http, error);
}

export function show(http: Http, outcome: Outcome): void {
  Object.assign(http.state.headers, { "Cache-Control": "no-store", Pragma: "no-cache" });
  if ("goTo" in outcome)
    return send(http, { status: outcome.status ?? 303, headers: { Location: outcome.goTo }, body: "" });
  const isOwn = "document" in outcome;
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": isOwn ? outcome.policy : policyOf(outcome.formAction),
  };
  const status = isOwn ? 200 : (outcome.status ?? 200);
  send(http, { status, headers, body: (isOwn ? outcome.document : documentOf(outcome)).text });
}

/** Shows status, message and request id, for support. */
export function showFailure(http: Http, thrown: unknown): void {
  const { status, title, detail, headers } = described(thrown);
  Object.assign(http.state.headers, headers);
  const main = html`${alarm(detail)}
    <p class="faint">Status ${status} · Request id <code>${http.state.details.id}</code></p>
    <a class="button" href="/">Back to Steward</a>`;
  show(http, { status, title, main });
}

function described(thrown: unknown) {
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
