import type { Socket } from "node:net";
import { anonymous } from "../domain/kernel/actor.js";
import { Context, type Services } from "../domain/kernel/context.js";
import { badInput, unauthenticated } from "../domain/kernel/errors.js";
import { invalidQuery } from "../domain/kernel/paging.js";
import { admitDaemon, type ServeRequest } from "../domain/provisioners/serving.js";
import type { ProvisionerKeyHolder } from "../domain/provisioners/tokens.js";
import { report, translate } from "../graphql/engine/errors.js";
import { DaemonSockets } from "../graphql/provisioners/sockets.js";
import { bearerOf, sentCredential } from "../http/credentials.js";
import { type ContextOf, type Http, send, upgrades } from "../http/exchange.js";
import { TransportError } from "../http/responses.js";
import type { Handler } from "../http/routes.js";
import { apiDialect } from "./engine/dialects.js";

export const servePath = "/api/v2/organizations/:organization/provisionerdaemons/serve";

const keyHeader = "service-provisioner-key";

/** Serves jobs to provisioner daemons: every rejection is a plain response, before the connection is upgraded. */
export function serveDaemons(services: Services, contextOf: ContextOf, sockets: DaemonSockets): Handler {
  return async (http) => {
    try {
      const { ctx, key } = await callerOf(services, contextOf, http);
      services.limits.countCaller(ctx);
      const upgrade = requireUpgrade(http);
      const daemon = await admitDaemon(ctx, key, requestOf(http));
      http.res.statusCode = 101;
      http.res.detachSocket(upgrade.socket as Socket);
      // HTTP ends here, as for streams.
      http.res.emit("finish");
      sockets.upgrade(http.req, upgrade.socket, upgrade.head, { daemon, details: http.state.details });
    } catch (error) {
      send(http, failureOf(services, http, error));
    }
  };
}

/** The key of a daemon, or the user whose session it uses. Never both. */
async function callerOf(
  services: Services,
  contextOf: ContextOf,
  http: Http,
): Promise<{ ctx: Context; key?: ProvisionerKeyHolder }> {
  const { headers } = http.req;
  const bearer = bearerOf(headers);
  const inHeader = (headers[keyHeader] as string | undefined) || undefined;
  const inBearer = bearer?.startsWith("stwk_") ? bearer : undefined;
  const text = inHeader ?? inBearer;
  if (text === undefined) {
    const ctx = await contextOf(http.req, http.state);
    if (ctx.actor.kind === "anonymous") throw unauthenticated("No credential was sent.");
    return { ctx };
  }
  const { authorization: _, ...others } = headers;
  const rest = { headers: inBearer ? others : headers } as typeof http.req;
  if ((inHeader && inBearer) || sentCredential(rest, services.config.accessUrl))
    throw badInput([{ field: keyHeader, detail: "Cannot be combined with another credential." }], "Validation failed.");
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
function requestOf({ req, querystring, state }: Http): ServeRequest {
  const query = new URLSearchParams(querystring);
  const one = (name: string): string | undefined => query.get(name) || undefined;
  const twice = ["name", "version"].filter((name) => query.getAll(name).length > 1);
  if (twice.length > 0)
    throw badInput(
      twice.map((field) => ({ field, detail: "Must be given once." })),
      invalidQuery,
    );
  return {
    organization: state.params.organization!,
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

function failureOf({ config, log }: Services, http: Http, error: unknown) {
  if (error instanceof TransportError) return apiDialect.transportFailure(error);
  const failure = translate(error);
  report({ log, request: http.state.details }, failure, error);
  const challenged = http.req.headers[keyHeader] !== undefined || sentCredential(http.req, config.accessUrl);
  return apiDialect.failure(failure, {
    requestId: http.state.details.id,
    accessUrl: config.accessUrl,
    scopes: ["provisioner_daemon:create"],
    challenged,
    wireField: (field) => field,
  });
}
