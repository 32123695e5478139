// Looks inside: compares the migrations with the entities, which no interface shows.
import { expect } from "chai";
import { migrateOffline } from "../../src/infrastructure/database/migrations.js";
import { openDatabase } from "../../src/infrastructure/database/database.js";
import { createDatabase } from "../support/cluster.js";

describe("migrations", () => {
  it("produce exactly the schema that the entities describe", async () => {
    const database = await createDatabase();
    const opened = openDatabase({ url: database.url, pool: 2, statementTimeout: 60_000 });
    try {
      await migrateOffline(opened);
      expect(await opened.orm.schema.getUpdateSchemaSQL({ wrap: false })).to.equal("");
    } finally {
      await opened.close();
      await database.drop();
    }
  });
});
