import type { Logger } from "pino";
import type { Config } from "../../config/config.js";
import type { Database } from "../kernel/database.js";
import type { Events, Subscription } from "../kernel/events.js";
import { StoredLicenses } from "../licenses/stored.js";
import type { Feature, FeatureName } from "./features.js";
import { Entitlement, nextChange } from "./grants.js";
import { entitlementsFrom } from "./set.js";
import type { EntitlementSet } from "./state.js";
import { countManagedAgents, type Period, readUsage } from "./usage.js";

export interface EntitlementsOptions {
  config: Pick<Config, "licenseKeys" | "connectionLog">;
  database: Database;
  events: Events;
  log: Logger;
}

/** Tells all replicas that licences, or what they are compared with, may have changed. */
export const licensesHint = { topic: "licenses", id: "all" } as const;

/** Milliseconds from one computation to the next where nothing happens, and after one that failed. */
const usual = 600_000;
const retry = 30_000;

/**
 * What the deployment may use, kept at hand: computed at start, as time passes, and whenever licences change anywhere.
 * What was computed last counts until the next computation succeeds. One per replica.
 */
export class Entitlements {
  readonly #options: EntitlementsOptions;
  /** None where licences are not asked for. */
  readonly #stored: StoredLicenses | undefined;
  #current: EntitlementSet | undefined;
  #granted: ReadonlySet<FeatureName> = new Set();
  #hints: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The computation under way, or the last one; and the one that begins after it. */
  #computing: Promise<unknown> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  constructor(options: EntitlementsOptions) {
    const { config, database } = (this.#options = options);
    this.#stored = config.licenseKeys && new StoredLicenses(database, config.licenseKeys);
  }

  /** Computes for the first time, and from then on by itself. */
  async start(): Promise<void> {
    const again = () => this.#refreshAlone();
    this.#hints = this.#options.events.subscribeAll("licenses", again, again);
    await this.refresh();
  }

  /** Whether licences grant the feature, grace included. */
  grants(feature: Feature): boolean {
    return this.#granted.has(feature);
  }

  /** What was computed last. */
  get current(): EntitlementSet {
    if (!this.#current) throw new Error("Entitlements were not started.");
    return this.#current;
  }

  /** Computes from what is stored by now. Calls that come while another computation is under way share the next one. */
  refresh(): Promise<void> {
    return (this.#waiting ??= this.#computing.then(() => {
      this.#waiting = undefined;
      const computing = this.#compute();
      this.#computing = computing.catch(() => {});
      return computing;
    }));
  }

  /** Ends what it does by itself, and waits for what it is at. */
  async close(): Promise<void> {
    this.#hints?.close();
    await this.#waiting?.catch(() => {});
    await this.#computing;
    clearTimeout(this.#timer);
  }

  async #compute(): Promise<void> {
    let next = Date.now() + retry;
    try {
      const { database, config } = this.#options;
      const usage = await readUsage(database);
      const now = Date.now();
      const { licenses, errors } = (await this.#stored?.read(usage.deploymentId, now)) ?? { errors: [] };
      const count = (period: Period) => countManagedAgents(database, period);
      const facts = { licenses, errors, usage, countManagedAgents: count, connectionLog: config.connectionLog, now };
      this.#current = await entitlementsFrom(facts);
      this.#granted = new Set(
        this.#current.features
          .filter(({ entitlement }) => entitlement !== Entitlement.NOT_ENTITLED)
          .map(({ name }) => name),
      );
      next = Math.min(now + usual, nextChange(licenses ?? [], now));
    } finally {
      clearTimeout(this.#timer);
      // Timers may come a moment early: a millisecond later is late enough.
      this.#timer = setTimeout(() => this.#refreshAlone(), next - Date.now() + 1).unref();
    }
  }

  /** Where nobody waits for it. */
  #refreshAlone(): void {
    this.refresh().catch((error: unknown) => {
      this.#options.log.warn({ err: error }, "Entitlements stay as they were computed last; they are tried again.");
    });
  }
}
