import { anonymous } from "../../domain/kernel/actor.js";
import { Context, type Services } from "../../domain/kernel/context.js";
import type { ProviderLogouts } from "../../domain/sign-in/provider-logouts.js";
import { translate } from "../../graphql/engine/errors.js";
import { readForm } from "../../http/body.js";
import { statusOf, TransportError } from "../../http/errors.js";
import type { Http, Middleware } from "../../http/exchange.js";

/** The path at which a provider tells that people have signed out there. */
export const logoutPath = "/login/:provider/backchannel-logout";

/** Maximum size in bytes of the form with a logout token. */
const limit = 16 * 1024;

/** Takes the logout tokens of providers (OpenID Connect Back-Channel Logout 1.0 §2.5): no browser is involved. */
export const providerLogouts =
  (services: Services, logouts: ProviderLogouts): Middleware =>
  async (http) => {
    http.set("Cache-Control", "no-store");
    try {
      const provider = services.identityProviders.find(http.params.provider ?? "");
      if (!provider?.readLogoutToken) throw new TransportError(404, "Route not found.");
      const token = (await readForm(http.req, limit)).get("logout_token");
      if (!token) throw new TransportError(400, "Validation failed.", "A logout_token is required.");
      const ctx = new Context(services, anonymous, http.state.details, http.state.lifetime);
      const ended = await logouts.end(ctx, provider, token);
      services.log.info({ provider: provider.settings.name, ended }, "A provider ended sessions.");
      http.status = 200;
      http.body = "";
    } catch (error) {
      fail(services, http, error);
    }
  };

/** Responds with an error of OAuth (§2.8). */
function fail({ log }: Services, http: Http, thrown: unknown): void {
  const failure = thrown instanceof TransportError ? thrown : translate(thrown);
  const detail = failure instanceof TransportError ? failure.detail : failure.details.detail;
  const reason = [failure.message, detail].filter(Boolean).join(" ");
  // The error itself could quote the token.
  const { cause } = failure;
  const details = { requestId: http.state.details.id, provider: http.params.provider, reason };
  http.status = statusOf(failure);
  log.warn(http.status >= 500 ? { ...details, err: cause } : details, "A logout of a provider was rejected.");
  http.type = "json";
  http.body = JSON.stringify({
    error: http.status >= 500 ? "server_error" : "invalid_request",
    error_description: reason,
  });
}
