import { expect } from "chai";
import { openDatabase } from "../src/infrastructure/database/database.js";
import { createDatabase } from "./support/cluster.js";

describe("migrations", () => {
  it("produce exactly the schema that the entities describe", async () => {
    const database = await createDatabase();
    const { orm } = openDatabase({ url: database.url, pool: 2, statementTimeout: 60_000 });
    try {
      await orm.migrator.up();
      expect(await orm.schema.getUpdateSchemaSQL({ wrap: false })).to.equal("");
    } finally {
      await orm.close();
      await database.drop();
    }
  });
});
