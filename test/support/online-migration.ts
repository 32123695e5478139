// A process of its own that runs a migration like those of new releases: a column, an index, and the values of the rows of
// a table with partitions;
// the validation of a constraint; or a transaction that holds its locks for seconds.
// Looks inside: runs migrations that no release has.
import "reflect-metadata";
import { migrationSql } from "../../src/infrastructure/database/migrations.js";
import { openDatabase } from "../../src/infrastructure/database/database.js";
import { Migrator } from "../../src/infrastructure/database/migrator.js";

const database = openDatabase({ url: process.argv[2]!, pool: 2, statementTimeout: 0 });
const columns = {
  name: "9999-folded-titles",
  sql: [
    `
      alter table inbox add column folded_title text;
      create index inbox_folded_index on inbox (folded_title);
      create function fold_title() returns trigger language plpgsql as $$
      begin
        new.folded_title := lower(new.title); -- "; begins no statement
        return new;
      end $$;
      create trigger fold_title before insert or update on inbox
        for each row execute function fold_title();
      alter table users add column folded_count int not null default 0;
    `,
  ],
  backfills: [
    `update inbox set folded_title = lower(title)
     where id in (select id from inbox where folded_title is null order by id limit 2000)`,
  ],
};
const validation = {
  name: "9999-titles-checked",
  sql: ["alter table inbox_notifications validate constraint inbox_notifications_title_check;"],
  backfills: [],
};
const slow = { name: "9999-slow", sql: ["alter table users add column slow int; select pg_sleep(2)"], backfills: [] };
const migration = { columns, validation, slow }[process.argv[3]!]!;
const log = { info: (detail: unknown, message = "") => console.log(JSON.stringify([detail, message])) };
const migrations = [...migrationSql(database.orm), migration];
const migrator = new Migrator({
  pools: database.pools,
  migrations,
  log,
  turn: "hashtext('steward.boot')",
  check: () => {},
});
console.log(JSON.stringify(["done", await migrator.run()]));
await database.close();
