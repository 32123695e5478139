import type { Logger } from "pino";
import type { Config } from "../../runtime/config.js";
import type { Database } from "../../infrastructure/database/database.js";
import type { Events, Subscription } from "../../runtime/events.js";
import { StoredLicenses } from "../licenses/stored-licenses.js";
import type { Feature, FeatureName } from "./features.js";
import { Entitlement } from "./license-grants.js";
import { nextChange } from "../licenses/grace-period.js";
import { entitlementsFrom } from "./entitlement-set.js";
import type { EntitlementSet } from "./state.js";
import { countManagedAgents, type Period, readUsage } from "./usage.js";

export interface EntitlementsOptions {
  config: Pick<Config, "licenseKeys" | "connectionLog">;
  database: Database;
  events: Events;
  log: Logger;
}

/** Signals all replicas that licenses or the usage to compare them with may have changed. */
export const licensesHint = { topic: "licenses", id: "all" } as const;

/** Milliseconds to the next computation: without changes, and after a failure. */
const interval = 600_000;
const retryInterval = 30_000;

/**
 * The entitlements of the deployment, cached in memory. Recomputed periodically, when a license changes its level, and
 * when any replica changes licenses. The last result stays in effect until a computation succeeds. One per replica.
 */
export class Entitlements {
  readonly #options: EntitlementsOptions;
  /** Absent if the deployment needs no licenses. */
  readonly #stored: StoredLicenses | undefined;
  #current: EntitlementSet | undefined;
  #granted: ReadonlySet<FeatureName> = new Set();
  #hints: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The computation in progress or the last one, and the one that starts after it. */
  #computing: Promise<unknown> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(options: EntitlementsOptions) {
    const { config, database } = (this.#options = options);
    this.#stored = config.licenseKeys && new StoredLicenses(database, config.licenseKeys);
  }

  /** Computes the entitlements and starts to keep them up to date. */
  async start(): Promise<void> {
    const refresh = () => this.#refreshInBackground();
    this.#hints = this.#options.events.subscribeAll("licenses", refresh, refresh);
    await this.refresh();
  }

  /** Reports whether licenses grant the feature, grace period included. */
  grants(feature: Feature): boolean {
    return this.#granted.has(feature);
  }

  /** The result of the last computation. */
  get current(): EntitlementSet {
    if (!this.#current) throw new Error("Entitlements were not started.");
    return this.#current;
  }

  /** Recomputes from the stored licenses. Calls during a computation share the next one. */
  refresh(): Promise<void> {
    return (this.#waiting ??= this.#computing.then(() => {
      this.#waiting = undefined;
      const computing = this.#compute();
      this.#computing = computing.catch(() => {});
      return computing;
    }));
  }

  /** Stops the updates and waits for computations in progress. */
  async close(): Promise<void> {
    this.#hints?.close();
    await this.#waiting?.catch(() => {});
    await this.#computing;
    clearTimeout(this.#timer);
  }

  async #compute(): Promise<void> {
    let next = Date.now() + retryInterval;
    try {
      const { database, config } = this.#options;
      const usage = await readUsage(database);
      const now = Date.now();
      const { licenses, errors } = (await this.#stored?.read(usage.deploymentId, now)) ?? { errors: [] };
      const count = (period: Period) => countManagedAgents(database, period);
      const inputs = {
        licenses,
        errors,
        usage,
        countManagedAgents: count,
        hasConnectionLog: config.connectionLog,
        now,
      };
      this.#current = await entitlementsFrom(inputs);
      this.#granted = new Set(
        this.#current.features
          .filter(({ entitlement }) => entitlement !== Entitlement.NOT_ENTITLED)
          .map(({ name }) => name),
      );
      next = Math.min(now + interval, nextChange(licenses ?? [], now));
    } finally {
      clearTimeout(this.#timer);
      // A timer may fire up to a millisecond early.
      this.#timer = setTimeout(() => this.#refreshInBackground(), next - Date.now() + 1).unref();
    }
  }

  /** Refreshes without a caller: logs a failure. */
  #refreshInBackground(): void {
    this.refresh().catch((error: unknown) => {
      this.#options.log.warn(
        { err: error },
        "Entitlements could not be computed; the last ones stay in effect until a retry succeeds.",
      );
    });
  }
}
