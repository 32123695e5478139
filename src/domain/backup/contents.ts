import type { MikroORM } from "@mikro-orm/postgresql";
import { escapeIdentifier, type PoolClient } from "pg";

/** A table as a backup lists it. */
export interface TableContent {
  name: string;
  columns: string[];
  /** Size on disk, without indexes, when the backup began. */
  bytes: number;
}

/** The first record of a backup. */
export interface BackupContents {
  tables: TableContent[];
  /** Last values of the sequences that have been used. */
  sequences: Array<{ name: string; value: string }>;
}

/** The names of the tables of all entities. The table of migrations is not one of them. */
export const tableNames = (orm: MikroORM): string[] =>
  [...orm.getMetadata().getAll().values()].filter(({ abstract }) => !abstract).map(({ tableName }) => tableName);

/** Lists names in SQL. */
export const quoteNames = (names: readonly string[]): string => names.map((name) => escapeIdentifier(name)).join(", ");

/** The table and columns of a COPY statement that writes them. */
export const formatCopyTarget = ({ name, columns }: TableContent): string =>
  `${escapeIdentifier(name)} (${quoteNames(columns)})`;

/** The rows that a COPY statement reads, those of partitions included. */
export const copiedRows = ({ name, columns }: TableContent): string =>
  `(select ${quoteNames(columns)} from ${escapeIdentifier(name)})`;

const readTables = `
  select c.relname as name, coalesce((select sum(pg_table_size(relid)) from pg_partition_tree(c.oid)), pg_table_size(c.oid))::float8 as bytes,
         array_agg(a.attname::text order by a.attnum) as columns
  from unnest($1::text[]) as wanted (name)
  join pg_class c on c.oid = to_regclass(quote_ident(wanted.name))
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
  group by c.oid order by c.relname`;

/** Materialized, because the function that reads the last value fails for other relations. */
const readSequences = `
  with owned as materialized (
    select s.oid, s.relname from pg_class s
    join pg_depend d on d.objid = s.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i')
    where s.relkind = 'S' and d.refobjid in (
      select to_regclass(quote_ident(name)) from unnest($1::text[]) as wanted (name))
  )
  select relname as name, pg_sequence_last_value(oid)::text as value from owned
  where pg_sequence_last_value(oid) is not null`;

/** Reads which of the tables exist, their columns, and their sequences. */
export async function readContents(client: PoolClient, names: string[]): Promise<BackupContents> {
  const { rows: tables } = await client.query<TableContent>(readTables, [names]);
  const { rows: sequences } = await client.query<{ name: string; value: string }>(readSequences, [names]);
  return { tables, sequences };
}
