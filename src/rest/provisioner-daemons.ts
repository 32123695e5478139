import type { Socket } from "node:net";
import { anonymous } from "../domain/kernel/actor.js";
import { Context, type Services } from "../domain/kernel/context.js";
import { badInput, unauthenticated } from "../domain/kernel/errors.js";
import { invalidQuery } from "../domain/kernel/paging.js";
import { admitDaemon, type ServeRequest } from "../domain/provisioners/serving.js";
import type { ProvisionerKeyHolder } from "../domain/provisioners/provisioner-key-tokens.js";
import { requireChangedPassword, requireFactor } from "../graphql/engine/access.js";
import { DaemonSockets } from "../graphql/provisioners/daemon-sockets.js";
import { bearerOf, hasSentCredential, headerText, rightPlaceOf } from "../http/credentials.js";
import { TransportError } from "../http/errors.js";
import { type ContextOf, type Http, upgrades } from "../http/exchange.js";
import type { Routes } from "../http/routes.js";
import { apiDialect, errorsIn } from "./engine/dialects.js";

const servePath = "/api/v2/organizations/:organization/provisionerdaemons/serve";

const keyHeader = "service-provisioner-key";

/** Registers the route on which provisioner daemons receive jobs: every rejection is a plain response, before the upgrade. */
export function routeDaemons(routes: Routes, services: Services, contextOf: ContextOf, sockets: DaemonSockets): void {
  const errors = errorsIn(apiDialect, services, {
    scopes: ["provisioner_daemon:create"],
    isChallenged: ({ headers }) => headers[keyHeader] !== undefined,
  });
  routes.of(servePath).get(servePath, errors, async (http: Http) => {
    const { ctx, key } = await callerOf(services, contextOf, http);
    services.limits.countCaller(ctx);
    const upgrade = requireUpgrade(http);
    const daemon = await admitDaemon(ctx, key, requestOf(http));
    // A request that timed out has its response.
    if (http.headerSent) return;
    const release = services.limits.sockets.hold(ctx.actor);
    if (upgrade.socket.destroyed) release();
    else upgrade.socket.once("close", release);
    http.respond = false;
    http.res.statusCode = 101;
    http.res.detachSocket(upgrade.socket as Socket);
    // HTTP ends here, as for streams.
    http.res.emit("finish");
    sockets.upgrade(http.req, upgrade.socket, upgrade.head, { daemon, details: http.state.details });
  });
}

/** The key of a daemon, or the user whose session it uses. Never both. */
async function callerOf(
  services: Services,
  contextOf: ContextOf,
  http: Http,
): Promise<{ ctx: Context; key?: ProvisionerKeyHolder }> {
  const { headers } = http.req;
  const bearer = bearerOf(headers);
  const inHeader = headerText(headers, keyHeader);
  const inBearer = bearer?.startsWith("stwk_") ? bearer : undefined;
  const text = inHeader ?? inBearer;
  if (text === undefined) {
    const ctx = await contextOf(http.req, http.state);
    if (ctx.actor.kind === "anonymous") throw unauthenticated("No credential was sent.");
    requireChangedPassword(ctx.actor);
    requireFactor(ctx.actor);
    return { ctx };
  }
  const { authorization: _, ...others } = headers;
  const rest = { headers: inBearer ? others : headers } as typeof http.req;
  if ((inHeader && inBearer) || hasSentCredential(rest, services.config.accessUrl))
    throw badInput([{ field: keyHeader, detail: "Cannot be combined with another credential." }], "Validation failed.");
  const rightPlace = rightPlaceOf(text, ["stwk_"]);
  if (rightPlace) throw unauthenticated(`The token is malformed. ${rightPlace}`);
  const key = await services.credentials.authenticateProvisionerKey(text);
  return { ctx: new Context(services, anonymous, http.state.details, http.state.lifetime), key };
}

function requireUpgrade({ req }: Http) {
  const upgrade = upgrades.get(req);
  const headers = { Upgrade: "websocket", Connection: "Upgrade" };
  if (!upgrade) throw new TransportError(426, "Upgrade required.", "Daemons connect by WebSocket.", headers);
  if (!DaemonSockets.speaks(req))
    throw new TransportError(400, "Validation failed.", "Sec-WebSocket-Protocol must be graphql-transport-ws.");
  return upgrade;
}

/** Reads the query. Of several values of a parameter that takes one, all are faulty. */
function requestOf({ req, querystring, params }: Http): ServeRequest {
  const query = new URLSearchParams(querystring);
  const one = (name: string): string | undefined => query.get(name) || undefined;
  const twice = ["name", "version"].filter((name) => query.getAll(name).length > 1);
  if (twice.length > 0)
    throw badInput(
      twice.map((field) => ({ field, detail: "Must be given once." })),
      invalidQuery,
    );
  return {
    organization: params.organization!,
    provisioners: query
      .getAll("provisioner")
      .flatMap((each) => each.split(","))
      .filter(Boolean),
    name: one("name"),
    tags: query.getAll("tag").filter(Boolean),
    version: one("version"),
    buildVersion: req.headers["service-build-version"] as string | undefined,
  };
}
