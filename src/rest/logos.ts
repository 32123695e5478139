import { logoPath, readLogo } from "../domain/appearance/logo.js";
import { anonymous } from "../domain/kernel/actor.js";
import { Context, type Services } from "../domain/kernel/context.js";
import { routeNotFound } from "../http/errors.js";
import { keptForGood } from "../http/exchange.js";
import type { Routes } from "../http/routes.js";

/** The policy of a file that users have uploaded, where a browser shows it alone. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/** Registers the file of the logo, which everyone may fetch: its path changes with its content. */
export function routeLogos(routes: Routes, services: Services): void {
  routes.of(logoPath).get(logoPath, async (http) => {
    const ctx = new Context(services, anonymous, http.state.details, http.state.lifetime);
    const logo = await readLogo(ctx, http.params.file!);
    if (!logo) throw routeNotFound();
    http.set({ ...keptForGood, "Content-Security-Policy": policy });
    http.type = logo.mediaType;
    http.body = logo.content;
  });
}
