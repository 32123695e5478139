import { Migration } from "@mikro-orm/migrations";

const counts = (row: string) => `${row}.deleted_at is null and ${row}.prebuilt_preset_id is null`;

/**
 * Counts the workspaces of templates as the sum of their changes, whichever release makes them: builds do not wait for each
 * other, as they would for the one row of their template. What was there before is the first change.
 */
export class TemplateUse extends Migration {
  override up(): void {
    this.addSql(`
      create table workspace_changes (
        id uuid not null primary key default gen_random_uuid(),
        template_id uuid not null,
        workspace_count int not null,
        running_count int not null
      );
      alter table templates add column workspace_count int not null default 0,
        add column running_count int not null default 0;
      create function note_workspace_change() returns trigger language plpgsql as $$
      declare
        more int := 0;
        more_running int := 0;
      begin
        if tg_op <> 'INSERT' and ${counts("old")} then
          more := -1;
          more_running := case when old.latest_status = 'running' then -1 else 0 end;
        end if;
        if tg_op <> 'DELETE' and ${counts("new")} then
          more := more + 1;
          more_running := more_running + case when new.latest_status = 'running' then 1 else 0 end;
        end if;
        if more <> 0 or more_running <> 0 then
          insert into workspace_changes (template_id, workspace_count, running_count)
          values (coalesce(new.template_id, old.template_id), more, more_running);
        end if;
        return null;
      end $$;
      create trigger note_workspace_change
        after insert or delete or update of deleted_at, prebuilt_preset_id, latest_status on workspaces
        for each row execute function note_workspace_change();
      insert into workspace_changes (template_id, workspace_count, running_count)
      select template_id, count(*), count(*) filter (where latest_status = 'running')
      from workspaces w where ${counts("w")} group by template_id;
    `);
  }
}
