import { Client } from "pg";
import { ids } from "./data.js";

/** Watched rows: both logs have them, at the same times. */
export const watched = 10_000;

/** All rows of the larger log. */
export const many = 1_000_000;

/** Values that only watched rows have, a few rows each; only `hugeOrganization` has most rows of both logs. */
export const known = {
  hugeOrganization: ids.organization,
  smallOrganization: "01900000-0000-7000-8000-0000000000b0",
  largeOrganization: "01900000-0000-7000-8000-0000000000c0",
  workspace: "01900000-0000-7000-8500-000000000000",
  connection: "01900000-0000-7000-8600-000000000000",
  owner: "user-10",
  visitor: "user-11",
};

/** Administrators, by member number: of the small organization only, and of both the small and the large one. */
export const administrators = { ofOne: 1, ofTwo: 2 };

const id = (kind: string, nr: string) => `('01900000-0000-7000-8${kind}00-' || lpad(to_hex(${nr}), 12, '0'))::uuid`;

/**
 * Copies the run's database, adds a connection log with `rows` rows, and returns the URL of the copy. The watched rows
 * are spread over the log; all others belong to other users.
 */
export async function logOf(rows: number, databaseUrl: string): Promise<string> {
  const url = new URL(databaseUrl);
  const [template, name] = [url.pathname.slice(1), `connections_${rows}`];
  await execute(databaseUrl.replace(`/${template}`, "/postgres"), `create database ${name} template ${template}`);
  url.pathname = `/${name}`;
  const step = rows / watched;
  // Every `step`th row is watched. The others equal the watched rows in the columns that many rows share.
  await execute(
    url.href,
    `
    insert into organizations (id, created_at, updated_at, name)
    values ('${known.smallOrganization}', now(), now(), 'small'), ('${known.largeOrganization}', now(), now(), 'large');
    insert into organization_members (organization_id, user_id, created_at, roles) values
      ('${known.smallOrganization}', '${ids.user(administrators.ofOne)}', now(), '{organization-admin}'),
      ('${known.smallOrganization}', '${ids.user(administrators.ofTwo)}', now(), '{organization-admin}'),
      ('${known.largeOrganization}', '${ids.user(administrators.ofTwo)}', now(), '{organization-admin}');

    insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
      connect_time, ip, reporter, event_id, connection_id, is_connect_reported, disconnect_time, exit_code, slug_or_port,
      status_code, user_id, user_agent)
    select ${id("4", `n * ${many / rows}`)},
      case when watched and f / 10 % 10 = 3 then '${known.smallOrganization}'::uuid
        when f / 10 % 10 in (4, 5, 6, 7) then '${known.largeOrganization}' else '${known.hugeOrganization}' end,
      ${id("5", "case when watched and f % 100 = 0 then 0 else 1 + n % 20000 end")}, 'box',
      ${id("1", "case when watched and f % 50 = 0 then 10 else 1000 + n % 4000 end")}, 'main',
      case when watched and f % 1400 = 6 then 'jetbrains' else kind end,
      timestamptz '2026-10-01T00:00:00Z' + n * interval '${2_592_000 / rows} seconds', '192.0.2.1',
      ${id("7", "n % 20000")},
      case when is_web then ${id("8", "n")} end, case when not is_web then ${id("6", `n * ${many / rows}`)} end, true,
      case when not is_web and not (watched and f % 190 = 1) then timestamptz '2026-11-01T00:00:00Z' end,
      case when not is_web then 0 end, case when is_web then '8080' end, case when is_web then 200 end,
      case when is_web then ${id("1", "case when watched and f % 50 = 7 then 11 else 1000 + n % 3989 end")} end,
      case when is_web then 'Mozilla/5.0 (X11; Linux x86_64; rv:148.0) Gecko/20100101 Firefox/148.0' end
    from (
      select n, f, watched, f % 10 > 6 as is_web,
        (array['ssh','ssh','ssh','ssh','ssh','vscode','reconnecting_pty','workspace_app','workspace_app','port_forwarding'])
          [f % 10 + 1] as kind
      from generate_series(0, ${rows - 1}) n,
        lateral (select n % ${step} = 0 as watched, case when n % ${step} = 0 then n / ${step} else n end as f) w) numbered`,
  );
  await execute(url.href, "vacuum analyze");
  return url.href;
}

async function execute(connectionString: string, sql: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
