import { type Database, statement } from "../kernel/database.js";
import type { LicenseClaims } from "./claims.js";
import type { LicenseKeys } from "./keys.js";
import { isFor, type Verdict, verifyLicense } from "./verification.js";

interface StoredToken {
  id: number;
  /** Null if already verified. */
  token: string | null;
}

const unexpired = statement<StoredToken>(`
  select id, case when id <> all($2::int[]) then token end as token
  from licenses where expires_at is null or expires_at > $1
  order by id`);

/** Caches the verification of stored licenses. Neither a license nor the keys change while the server runs. */
export class StoredLicenses {
  #verdicts: ReadonlyMap<number, Verdict> = new Map();

  constructor(
    private readonly database: Database,
    private readonly keys: LicenseKeys,
  ) {}

  /** Reads the valid licenses of this deployment that have not expired at `now`, and the faults of the invalid ones. */
  async read(deploymentId: string, now: number): Promise<{ licenses: LicenseClaims[]; errors: string[] }> {
    const rows = await this.database.query(unexpired, [new Date(now), [...this.#verdicts.keys()]]);
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
