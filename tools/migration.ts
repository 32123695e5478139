// Prints the SQL that turns the migrated schema into the one the entities describe; `--check` fails when there is any.
import { createOrm } from "../src/entities/orm.js";

const { orm } = createOrm({ url: process.env.DATABASE_URL!, pool: 2, statementTimeout: 60_000 });
await orm.migrator.up();
const difference = await orm.schema.getUpdateSchemaSQL({ wrap: false });
console.log(difference.trim() || "The migrations are complete.");
await orm.close();
