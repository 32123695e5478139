import { finished } from "node:stream/promises";
import { once } from "node:events";
import { escapeIdentifier, type PoolClient } from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { type BackupRecord, BackupRefused } from "../../infrastructure/backup-file.js";
import { formatCopyTarget, quoteNames, type TableContent } from "./contents.js";

/** An index or a foreign key, as the SQL that creates it. */
interface Part {
  drop: string;
  create: string;
}

const readForeignKeys = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
         format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as create
  from pg_constraint
  where contype = 'f' and conrelid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) as wanted (name))
  order by conrelid, conname`;

/** Indexes that belong to a constraint, such as a primary key, stay. Those of partitions go and come with their parents'. */
const readIndexes = `
  select format('drop index %s', indexrelid::regclass) as drop,
    regexp_replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as create
  from pg_index i
  where indrelid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) as wanted (name))
    and not exists (select from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x'))
  order by indexrelid`;

/**
 * Drops the indexes and foreign keys of tables, and disables their triggers, so that rows can be loaded in any order,
 * unchanged and quickly. Returns what brings all of it back, which also checks the rows.
 */
export async function unbind(
  client: PoolClient,
  names: string[],
): Promise<(onProgress: (done: number, total: number) => void) => Promise<void>> {
  const { rows: foreignKeys } = await client.query<Part>(readForeignKeys, [names]);
  for (const { drop } of foreignKeys) await client.query(drop);
  const { rows: indexes } = await client.query<Part>(readIndexes, [names]);
  const parts = await readIndexParts(client, names);
  for (const { drop } of indexes) await client.query(drop);
  await setTriggers(client, names, "disable");

  const created = [...indexes, ...foreignKeys].map(({ create }) => create);
  return async (onProgress) => {
    for (const [n, create] of created.entries()) {
      await client.query(create);
      onProgress(n + 1, created.length);
    }
    await renameIndexParts(client, names, parts);
    await setTriggers(client, names, "enable");
    // Without statistics, the first plans of the server would be those of empty tables.
    await client.query(`analyze ${quoteNames(names)}`);
  };
}

interface IndexPart {
  key: string;
  name: string;
}

/** The names of the indexes of partitions, by the index of the parent that they are part of. */
async function readIndexParts(client: PoolClient, names: string[]): Promise<IndexPart[]> {
  const { rows } = await client.query<IndexPart>(
    `select inhparent::regclass || ' ' || own.indrelid::regclass as key, relname as name
     from pg_inherits join pg_index own on own.indexrelid = inhrelid join pg_class on pg_class.oid = inhrelid
     join pg_index whole on whole.indexrelid = inhparent
     where whole.indrelid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) as wanted (name))`,
    [names],
  );
  return rows;
}

/** Gives the indexes of partitions, which were created with those of their parents, the names that they had. */
async function renameIndexParts(client: PoolClient, names: string[], before: readonly IndexPart[]): Promise<void> {
  const formerNames = new Map(before.map(({ key, name }) => [key, name]));
  const renamed = (await readIndexParts(client, names)).flatMap(({ key, name }, nr) => {
    const former = formerNames.get(key);
    return former === undefined || former === name ? [] : { name, between: `restored_index_${nr}`, former };
  });
  const rename = (from: string, to: string) =>
    client.query(`alter index ${escapeIdentifier(from)} rename to ${escapeIdentifier(to)}`);
  for (const { name, between } of renamed) await rename(name, between);
  for (const { between, former } of renamed) await rename(between, former);
}

async function setTriggers(client: PoolClient, names: string[], change: "enable" | "disable"): Promise<void> {
  for (const name of names) await client.query(`alter table ${escapeIdentifier(name)} ${change} trigger user`);
}

/** The records of a backup, read one after the other. */
export type Records = AsyncIterator<BackupRecord>;

/** Reads the next record, which must be a JSON value. */
export async function nextValue(records: Records): Promise<Record<string, unknown>> {
  const { done, value } = await records.next();
  if (done || Buffer.isBuffer(value)) throw malformedBackup();
  return value as Record<string, unknown>;
}

export const malformedBackup = () => new BackupRefused("The backup does not have the expected contents.");

/** Loads the rows of a table, up to the record with their number, which is returned. */
export async function load(client: PoolClient, table: TableContent, records: Records): Promise<number> {
  const copy = client.query(copyFrom(`copy ${formatCopyTarget(table)} from stdin`));
  const loaded = finished(copy);
  // Reported by `loaded`, the first time.
  copy.on("error", () => {});
  loaded.catch(() => {});
  try {
    for (;;) {
      const { done, value } = await records.next();
      if (done) throw malformedBackup();
      if (Buffer.isBuffer(value)) {
        if (!copy.write(value)) await Promise.race([once(copy, "drain"), loaded]);
        continue;
      }
      copy.end();
      await loaded;
      if ((value as { rows?: unknown }).rows !== copy.rowCount) throw malformedBackup();
      return copy.rowCount;
    }
  } catch (error) {
    // Ends the COPY, so that the connection can roll back.
    copy.destroy(error as Error);
    await loaded.catch(() => {});
    throw error;
  }
}
