// Tables with as many rows as a deployment has after years, inserted in one statement each.
import { firstMonthId } from "./ids.js";
import type { World } from "./world.js";

/** Fills the audit log with 100,000 events, of which the rare ones, by `actor`, and those of the organizations are weeks old. */
export async function fillAuditLog(
  w: World,
  { actor, organizations }: { actor: string; organizations: [string, string] },
): Promise<void> {
  const client = await w.unlimited();
  await client.query(
    `insert into audit_events (id, time, actor_id, actor_kind, action, resource_type, resource_id, organization_id, diff, request_id)
     select ${firstMonthId}, now() - make_interval(mins => n), case when rare then $1::uuid else md5((n % 500)::text)::uuid end, 'user',
       case when rare then 'deny' else (array['login', 'logout', 'update'])[n % 3 + 1] end,
       case when rare then 'template' else (array['session', 'workspace'])[n % 2 + 1] end, md5((n / 5)::text)::uuid,
       case when n > 50000 and n % 10 = 0 then $2::uuid when n > 50000 and n % 10 = 1 then $3::uuid end, '{}', 'made'
     from generate_series(1, 100000) n, lateral (select n > 50000 and n % 500 = 0) of(rare)`,
    [actor, ...organizations],
  );
  await client.query("vacuum analyze audit_events");
  await client.end();
}

interface RareConnections {
  organization: string;
  workspace: string;
  visitor: string;
  connection: string;
}

/** Fills the connection log. Rare rows are in the older half. */
export async function fillConnectionLog(
  w: World,
  { rows, rare }: { rows: number; rare: RareConnections },
): Promise<void> {
  const client = await w.unlimited();
  await client.query(
    `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
       type, connect_time, reporter, connection_id, disconnect_time, slug_or_port, event_id, user_id)
     select ${firstMonthId}, case when rare then $1::uuid else $2 end,
       case when rare then $3::uuid else md5((n % 500)::text)::uuid end, 'box', case when rare then $4::uuid else $5 end,
       'main', case when n % 2 = 0 then 'ssh' when rare then 'port_forwarding' else 'workspace_app' end,
       now() - make_interval(secs => n), gen_random_uuid(),
       case when n % 2 = 0 then case when n = $7 - 2 then $6::uuid else gen_random_uuid() end end,
       case when n % 2 = 0 and not rare then now() end, '8080', gen_random_uuid(), case when rare then $4 end
     from generate_series(1, $7::int) n, lateral (select n > $7 / 2 and n % 301 = 0) of(rare)`,
    [rare.organization, w.defaultOrganization, rare.workspace, rare.visitor, w.owner.id, rare.connection, rows],
  );
  await client.query("vacuum analyze connection_logs");
  await client.end();
}
