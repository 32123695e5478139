import { Migration } from "@mikro-orm/migrations";

/** The columns that searches look into, as in the trigram indexes, by table. */
const searched = {
  users: {
    username: `lower(username collate "C")`,
    email: `lower(email collate "C")`,
    name: `lower(name) collate "C"`,
  },
  templates: { name: `lower(name) collate "C"`, display_name: `lower(display_name) collate "C"` },
  workspaces: { name: `lower(name) collate "C"` },
  tasks: { name: `lower(name) collate "C"`, display_name: `lower(display_name) collate "C"` },
};

/**
 * Lets Postgres estimate how many rows contain a word: it ignores the statistics of partial indexes, and would read all
 * rows of a frequent word by the index.
 */
export class SearchStatistics extends Migration {
  override up(): void {
    for (const [table, columns] of Object.entries(searched)) {
      for (const [column, expression] of Object.entries(columns))
        this.addSql(`create statistics ${table}_${column}_search on (${expression}) from ${table}`);
      this.addSql(`analyze ${table}`);
    }
  }
}
