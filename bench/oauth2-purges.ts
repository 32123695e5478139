import type { Config } from "../src/runtime/config.js";
import { grantPurge } from "../src/domain/oauth2/grants.js";
import { refreshTokenPurge } from "../src/domain/oauth2/tokens.js";
import { openDatabase } from "../src/infrastructure/database/database.js";

/** Runs the background jobs that delete grants and refresh tokens. Their retention is no setting. */
export async function purges(url: string): Promise<void> {
  const database = openDatabase({ url, pool: 2, statementTimeout: 60_000 });
  try {
    const services = { config: {} as Config, database };
    for (const job of [refreshTokenPurge, grantPurge]) await job.run(services);
  } finally {
    await database.close();
  }
}
