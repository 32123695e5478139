import type { IncomingMessage } from "node:http";
import type Koa from "koa";
import { Context, type Services } from "../domain/kernel/context.js";
import { anonymous } from "../domain/kernel/actor.js";
import { bringsMessage, receiveApplicationKey } from "../domain/applications/applications.js";
import { isBelow, isCovered } from "../domain/workspace-proxies/sites.js";
import { report, translate } from "../graphql/engine/errors.js";
import { send, type Http, type State } from "../http/exchange.js";
import { setCookie } from "../http/cookies.js";
import { statusOf } from "../http/statuses.js";
import { html } from "./html.js";

/** The key with which a browser opens the applications of one host. */
const applicationCookie = "service_application_token";

/** The hosts of applications at this server. A proxy in front of it carries them; here, keys are handed over. */
export class ApplicationHosts {
  readonly #wildcard: string;
  readonly #dashboard: URL;

  constructor(private readonly services: Services) {
    this.#wildcard = services.config.wildcardAccessUrl ?? "";
    this.#dashboard = new URL(services.config.accessUrl);
  }

  /** The application host that a request is meant for; `undefined` for all others. */
  of({ headers: { host } }: IncomingMessage): string | undefined {
    if (this.#wildcard === "" || host === undefined) return undefined;
    const hostname = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
    return isBelow(hostname, this.#wildcard) && hostname !== this.#dashboard.hostname ? hostname : undefined;
  }

  /** Answers requests to application hosts, so that nothing else of the server is there. */
  answer: Koa.Middleware<State> = (http, next) => {
    const hostname = this.of(http.req);
    return hostname === undefined ? next() : this.#answer(http, hostname);
  };

  async #answer(http: Http, hostname: string): Promise<void> {
    http.state.headers["Cache-Control"] = "no-store";
    try {
      this.services.limits.countCaller({ actor: anonymous, request: http.state.facts });
      const isArrival = http.method === "GET" && bringsMessage(http.search) && isCovered(hostname, this.#wildcard);
      if (isArrival) await this.#welcome(http, hostname);
      else showPage(http, 404, "Nothing is here.");
    } catch (error) {
      this.#refuse(http, error);
    }
  }

  async #welcome(http: Http, hostname: string): Promise<void> {
    const { protocol, port } = this.#dashboard;
    const origin = `${protocol}//${hostname}${port && `:${port}`}`;
    const ctx = new Context(this.services, anonymous, http.state.facts, http.state.lifetime);
    const { apiKey, location } = await receiveApplicationKey(ctx, { origin, path: http.path, search: http.search });
    setCookie(http, applicationCookie, apiKey, { secure: protocol === "https:" });
    send(http, { status: 303, headers: { Location: location }, body: "" });
  }

  #refuse(http: Http, thrown: unknown): void {
    const failure = translate(thrown);
    report({ log: this.services.log, request: http.state.facts }, failure, thrown);
    const { retryAfter } = failure.facts;
    if (retryAfter !== undefined) http.state.headers["Retry-After"] = retryAfter;
    showPage(http, statusOf(failure), failure.message);
  }
}

/** A page that needs nothing else from its host, since nothing else is there. */
function showPage(http: Http, status: number, message: string): void {
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  };
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${message}</title>
      </head>
      <body>
        <h1>${message}</h1>
        <p>Status ${status} · Request id ${http.state.facts.id}</p>
      </body>
    </html> `;
  send(http, { status, headers, body: page.text });
}
