import type { IncomingMessage } from "node:http";
import { Context, type Services } from "../domain/kernel/context.js";
import { anonymous } from "../domain/kernel/actor.js";
import type { ApplicationHosts, Welcome } from "../domain/applications/hosts.js";
import { report, translate } from "../graphql/engine/errors.js";
import { setCookie } from "../http/cookies.js";
import { statusOf } from "../http/errors.js";
import { type Http, type Middleware, redirect } from "../http/exchange.js";
import { html } from "./html.js";
import { bareTextPolicy } from "./content-security-policy.js";

/** The key that opens the applications of one host. */
const applicationCookie = "service_application_token";

/** The application hosts of the deployment. A proxy in front of it serves the applications; keys are handed over here. */
export class ApplicationHostPages {
  constructor(
    private readonly services: Services,
    private readonly hosts: ApplicationHosts,
  ) {}

  /** Whether a request is meant for an application host. */
  serves = ({ headers: { host } }: IncomingMessage): boolean => this.hosts.nameOf(host) !== undefined;

  /**
   * Middleware that responds to requests to application hosts, so that no other route of the server is reachable there.
   * `requireServing` throws while the server does not serve.
   */
  respondWhile =
    (requireServing: () => void): Middleware =>
    (http, next) => {
      const hostname = this.hosts.nameOf(http.req.headers.host);
      if (hostname === undefined) return next();
      requireServing();
      return this.#respond(http, hostname);
    };

  async #respond(http: Http, hostname: string): Promise<void> {
    const { details, lifetime } = http.state;
    http.set("Cache-Control", "no-store");
    try {
      this.services.limits.countCaller({ actor: anonymous, request: details });
      const ctx = new Context(this.services, anonymous, details, lifetime);
      const { method, path, search } = http;
      const welcome = method === "GET" ? await this.hosts.receive(ctx, { hostname, path, search }) : undefined;
      if (welcome) this.#welcome(http, welcome);
      else showPage(http, 404, "Nothing is here.");
    } catch (error) {
      this.#refuse(http, error);
    }
  }

  #welcome(http: Http, { apiKey, location }: Welcome): void {
    setCookie(http, applicationCookie, apiKey, { isSecure: this.services.config.accessUrl.startsWith("https:") });
    redirect(http, 303, location);
  }

  #refuse(http: Http, thrown: unknown): void {
    const failure = translate(thrown);
    report({ log: this.services.log, request: http.state.details }, failure, thrown);
    const { retryAfter } = failure.details;
    if (retryAfter !== undefined) http.set("Retry-After", String(retryAfter));
    showPage(http, statusOf(failure), failure.message);
  }
}

/** Sends a page without references: the host serves no style and no image. */
function showPage(http: Http, status: number, message: string): void {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${message}</title>
      </head>
      <body>
        <h1>${message}</h1>
        <p>Status ${status} · Request id ${http.state.details.id}</p>
      </body>
    </html> `;
  http.status = status;
  http.type = "html";
  http.set("Content-Security-Policy", bareTextPolicy);
  http.body = page.text;
}
