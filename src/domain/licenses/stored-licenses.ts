import { sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import type { LicenseClaims } from "./claims.js";
import type { LicenseKeys } from "./license-keys.js";
import { isFor, type Verdict, verifyLicense } from "./verification.js";

/** Caches the verification of stored licenses. Neither a license nor the keys change while the server runs. */
export class StoredLicenses {
  #verdicts: ReadonlyMap<number, Verdict> = new Map();

  constructor(
    private readonly database: Database,
    private readonly keys: LicenseKeys,
  ) {}

  /** Reads the valid licenses of this deployment that have not expired at `now`, and the faults of the invalid ones. */
  async read(deploymentId: string, now: number): Promise<{ licenses: LicenseClaims[]; errors: string[] }> {
    // Null for licenses that are already verified.
    const unverified = sql<string | null>`case when id <> all(${[...this.#verdicts.keys()]}::int[]) then token end`;
    const rows = await this.database.db
      .selectFrom("licenses")
      .select(["id", unverified.as("token")])
      .where((eb) => eb.or([eb("expiresAt", "is", null), eb("expiresAt", ">", new Date(now).toISOString())]))
      .orderBy("id")
      .execute();
    const verdicts = new Map<number, Verdict>();
    for (const { id, token } of rows)
      verdicts.set(id, token === null ? this.#verdicts.get(id)! : await this.#verify(token, deploymentId, now));
    this.#verdicts = verdicts;
    return {
      licenses: [...verdicts.values()].flatMap(({ claims }) => claims ?? []),
      errors: [...verdicts].flatMap(([id, { faults = [] }]) => faults.map((fault) => `License ${id}: ${fault}`)),
    };
  }

  async #verify(token: string, deploymentId: string, now: number): Promise<Verdict> {
    const verdict = await verifyLicense(token, this.keys, now);
    return verdict.claims && !isFor(deploymentId, verdict.claims)
      ? { faults: ["It is for another deployment."] }
      : verdict;
  }
}
