import argon2 from "argon2";
import { Client } from "pg";

/** The password of all members. */
export const password = "the-password-of-all-members-27";

/** The cost parameters of Steward's hashes. Memory in KiB. */
export const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export const hashOfAll = () => argon2.hash(password, cost);

/** Members by number, as `data.ts` inserts them. */
export const email = (nr: number) => `user-${nr}@example.com`;

/** Changes users while `use` runs: `change` of the `set` clause for those with numbers from `first` to `last`. */
export interface Change {
  first: number;
  last: number;
  set: string;
}

/** Gives all members a password and applies `changes` to some of them, runs `use`, and undoes both. */
export async function withPasswords<Result>(
  databaseUrl: string,
  changes: readonly Change[],
  use: () => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const members = "email ~ '^user-[0-9]+@'";
  try {
    await client.query(`update users set password_hash = $1 where ${members}`, [await hashOfAll()]);
    for (const { first, last, set } of changes) {
      const number = "substring(email from '[0-9]+')::int";
      await client.query(`update users set ${set} where ${members} and ${number} between $1 and $2`, [first, last]);
    }
    return await use();
  } finally {
    await client.query(
      `update users set password_hash = null, status = 'active', login_type = 'password' where ${members}`,
    );
    await client.end();
  }
}
