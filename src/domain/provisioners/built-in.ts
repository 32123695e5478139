import type { ProvisionerActor } from "../kernel/actor.js";
import type { Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { version } from "../../program-files.js";
import { isWaiting } from "./matching.js";
import { reservedKeys } from "./names.js";
import { protocolVersion } from "./registration.js";
import { scoped } from "./tags.js";

const provisioner = "echo";
const tags = scoped({}, "");

// In the order of the organizations, so that replicas do not wait for each other in a circle.
const registerAll = statement<{ id: string; organizationId: string; connectionId: string }>(`
  insert into provisioner_daemons as d (id, created_at, organization_id, name, owner_tag, provisioners, tags, version,
    api_version, last_seen_at, connection_id)
  select gen_random_uuid(), now(), o.id, '${reservedKeys.builtIn.name}', '', '{${provisioner}}', $1, $2, $3, now(),
    gen_random_uuid()
  from organizations o where o.deleted_at is null order by o.id
  on conflict (organization_id, lower(name), owner_tag) do update set provisioners = excluded.provisioners,
    tags = excluded.tags, version = excluded.version, api_version = excluded.api_version,
    last_seen_at = excluded.last_seen_at
    where d.key_id is null and d.user_id is null
  returning d.id, d.organization_id as "organizationId", d.connection_id as "connectionId"`);

/**
 * Stores the daemons inside of the server, one for each organization, and that they were seen: one statement for all.
 * All replicas share their rows.
 */
export async function registerBuiltInDaemons({ database }: Pick<Services, "database">): Promise<ProvisionerActor[]> {
  const apiVersion = `${protocolVersion.major}.${protocolVersion.minor}`;
  return (await database.query(registerAll, [tags, version, apiVersion])).map((stored) => ({
    kind: "provisioner",
    ...stored,
    name: reservedKeys.builtIn.name,
    keyId: null,
    user: null,
    tokenHash: "",
    provisioners: [provisioner],
    tags,
  }));
}

const withWork = statement<{ id: string }>(`
  select o.id from unnest($1::uuid[]) o (id) where exists (
    select from provisioner_jobs j where j.organization_id = o.id and ${isWaiting} and j.provisioner = '${provisioner}')`);

/** Selects the organizations in which jobs wait that the daemon inside of the server might do. */
export const organizationsWithWork = async (
  { database }: Pick<Services, "database">,
  organizationIds: readonly string[],
): Promise<Set<string>> => new Set((await database.query(withWork, [organizationIds])).map(({ id }) => id));
