import type { Context } from "../kernel/context.js";
import { areKnown, requestedAudiences } from "./audiences.js";
import type { ClientRow } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { defaultResource } from "./oauth2-settings.js";

type Requesting = Pick<ClientRow, "kind" | "defaultResource">;

/**
 * The resources of a request in canonical form. For a request that names none: the default resource of the application,
 * else that of the deployment for one that registered itself, else none, which stands for the whole of this server.
 * Throws `invalid_target` for unknown resources (RFC 8707 §2).
 */
export async function audiencesOf(
  ctx: Context,
  client: Requesting,
  resource: readonly string[] | null | undefined,
): Promise<string[]> {
  if (resource && resource.length > 0) return requestedAudiences(ctx, resource);
  const otherwise = client.defaultResource ?? (client.kind === "admin" ? null : await defaultResource(ctx));
  if (otherwise === null) return [];
  // Its resource server may have been deleted since. The whole of this server would be more than was meant.
  if (!(await areKnown(ctx, [otherwise])))
    throw oauthFailure("invalid_target", "The default resource of the application is unknown to this server.");
  return [otherwise];
}
