import argon2 from "argon2";

/** The password of all members. */
export const password = "the-password-of-all-members-27";

/** The cost parameters of Steward's hashes. Memory in KiB. */
export const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export const hashOfAll = () => argon2.hash(password, cost);

/** Members by number, as `data.ts` inserts them. */
export const email = (nr: number) => `user-${nr}@example.com`;
