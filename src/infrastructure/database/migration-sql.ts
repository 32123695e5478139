// What the runner of migrations must know about their SQL: which tables a migration locks, and which indexes it makes.

/** A migration as it is written. */
export interface MigrationSql {
  readonly name: string;
  /** Texts of one or more statements, which run in one transaction. */
  readonly sql: readonly string[];
  /**
   * Statements that run after that transaction, each in transactions of its own, again and again until it changes no row.
   * Each should change some thousand rows at most, which triggers of the same migration keep complete.
   */
  readonly backfills: readonly string[];
}

export type LockMode = "access exclusive" | "share row exclusive";

export interface Index {
  readonly name: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** The statement that creates it. */
  readonly sql: string;
}

/** A statement, and what it locks if the table exists before the migration. */
export interface Statement {
  readonly sql: string;
  readonly locks: ReadonlyArray<{ readonly table: string; readonly mode: LockMode }>;
  /** Indexes that it drops, which locks their tables. */
  readonly drops: readonly string[];
  readonly index?: Index;
}

/** Statements end at a semicolon outside of quoted texts and comments. */
const pieces = /(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|--[^\n]*|\/\*[^]*?\*\/|[^;])+/g;

export const statementsOf = (sql: readonly string[]): Statement[] =>
  sql
    .flatMap((text) => text.match(pieces) ?? [])
    .map((text) => text.replace(/^(?:\s+|--[^\n]*|\/\*[^]*?\*\/)+/, "").trimEnd())
    .filter((text) => text !== "")
    .map(read);

const name = String.raw`(?:only )?"?(\w+)"?`;
const optional = "(?:if (?:not )?exists )?";
/** Statements that lock a table, by their beginning, and how. Other statements lock nothing that others wait for. */
const locking: ReadonlyArray<readonly [RegExp, LockMode]> = [
  // A constraint is validated without a lock that writes wait for.
  [new RegExp(`^(?:alter|drop) table ${optional}${name}(?!\\w| validate constraint)`), "access exclusive"],
  [new RegExp(`^lock table ${name} in access exclusive mode`), "access exclusive"],
  [new RegExp(`^drop trigger ${optional}\\S+ on ${name}`), "access exclusive"],
  [new RegExp(`^create (?:or replace )?(?:constraint )?trigger .*? on ${name}`), "share row exclusive"],
  [new RegExp(`^(?:update|delete from|insert into) ${name}`), "share row exclusive"],
];

function read(sql: string): Statement {
  const text = sql.replace(/\s+/g, " ");
  const lower = text.toLowerCase();
  const own = locking.flatMap(([form, mode]) => {
    const table = form.exec(lower)?.[1];
    return table ? [{ table, mode }] : [];
  });
  const isTable = /^(create|alter) table /.test(lower);
  const referenced = isTable ? [...lower.matchAll(new RegExp(` references ${name}`, "g"))] : [];
  const dropped = new RegExp(`^drop index ${optional}(.*)$`).exec(lower)?.[1];
  const [, unique, index, table] = new RegExp(`^create (unique )?index ${optional}(\\w+) on ${name}`).exec(lower) ?? [];
  return {
    sql,
    locks: [...own, ...referenced.map((match) => ({ table: match[1]!, mode: "share row exclusive" as const }))],
    drops: dropped?.split(",").map((each) => each.trim()) ?? [],
    ...(index && table ? { index: { name: index, table, isUnique: unique !== undefined, sql } } : {}),
  };
}

/** The statement that creates an index without locking its table against writes. */
export const concurrently = ({ sql }: Index): string => sql.replace(/^create (unique )?index/i, "$& concurrently");

/** The same index of a partition of its table. */
export function indexOfPartition(index: Index, partition: string, nr: number): Index {
  const own = `${index.name.slice(0, 50)}_${nr}`;
  const sql = index.sql.replace(
    /^(create (?:unique )?index ).*? on (?:only )?"?\w+"?/is,
    `$1"${own}" on "${partition}"`,
  );
  return { ...index, name: own, table: partition, sql };
}
