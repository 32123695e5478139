import type { ProvisionerActor } from "../kernel/actor.js";
import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { version } from "../../program-files.js";
import { reservedKeys } from "./names.js";
import { protocolVersion, registerDaemon } from "./registration.js";
import { scoped } from "./tags.js";

const liveOrganizations = statement<{ id: string }>("select id from organizations where deleted_at is null");

/** Lists the organizations, which all have a daemon inside of the server. */
export async function organizationsToServe({ database }: Pick<Services, "database">): Promise<string[]> {
  return (await database.query(liveOrganizations, [])).map(({ id }) => id);
}

/**
 * Stores the daemon of the server for an organization, and that it was seen. All replicas share its row. Throws CONFLICT
 * if another daemon has its name.
 */
export const registerBuiltInDaemon = (
  services: Pick<Services, "database" | "events">,
  organizationId: string,
): Promise<ProvisionerActor> =>
  registerDaemon(services, {
    organizationId,
    name: reservedKeys.builtIn.name,
    provisioners: ["echo"],
    tags: scoped({}, ""),
    keyId: null,
    userId: null,
    tokenHash: "",
    version,
    apiVersion: `${protocolVersion.major}.${protocolVersion.minor}`,
  });
