// Checks the apps of an agent by GET, and reports changes of their health.
import { delay } from "../api/delay.js";
import { type AgentClient, type AppHealth, type ManifestApp, type ManifestTask, OperationFailed } from "./client.js";

/** Maximum milliseconds that a check waits for a response. */
const timeout = 10_000;

interface Watched {
  slug: string;
  url: string;
  headers: Record<string, string>;
  interval: number;
  threshold: number;
  failures: number;
  /** When the checks began. */
  began: number;
  health?: AppHealth;
  reported?: AppHealth;
}

export class AppChecks {
  readonly #apps: Watched[];
  readonly #told: string | undefined;
  /** Whether checks count. While the command is not running, its apps are unhealthy, whatever responds. */
  #isCommandRunning = true;

  /** `told` is the slug of an app whose health its process reports, until the command is down. */
  constructor(
    apps: readonly ManifestApp[],
    private readonly client: AgentClient,
    { told, task }: { told?: string; task?: ManifestTask | null } = {},
  ) {
    this.#told = told;
    this.#apps = apps
      .filter(({ slug, healthcheckUrl }) => healthcheckUrl !== null && slug !== told)
      .map((app) => ({
        slug: app.slug,
        url: app.healthcheckUrl!,
        headers: task?.app === app.slug ? bearerFor(app, task.appToken) : {},
        interval: (app.healthcheckIntervalSeconds ?? 5) * 1000,
        threshold: app.healthcheckThreshold ?? 3,
        failures: 0,
        began: Date.now(),
      }));
  }

  /** Checks until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#apps.map((app) => this.#watch(app, signal)));
  }

  /** Lets no check count until `up` is called. */
  pause(): void {
    this.#isCommandRunning = false;
  }

  /** Makes all apps unhealthy until `up` is called. */
  async down(): Promise<void> {
    this.pause();
    for (const app of this.#apps) app.health = "UNHEALTHY";
    const told = this.#told;
    if (told !== undefined) await this.client.appHealth([{ slug: told, health: "UNHEALTHY" }]).catch(() => {});
    await this.#report();
  }

  up(): void {
    this.#isCommandRunning = true;
    for (const app of this.#apps) app.failures = 0;
  }

  async #watch(app: Watched, signal: AbortSignal): Promise<void> {
    // Until the app has started, checks are closer together than their interval.
    for (let pause = Math.min(250, app.interval); !signal.aborted; await delay(pause, signal)) {
      if (app.health !== undefined) pause = app.interval;
      else pause = Math.min(pause * 2, app.interval);
      const isHealthy = await responds(app, signal);
      if (signal.aborted) return;
      if (this.#isCommandRunning) this.#count(app, isHealthy);
      await this.#report();
    }
  }

  #count(app: Watched, isHealthy: boolean): void {
    app.failures = isHealthy ? 0 : app.failures + 1;
    if (isHealthy) app.health = "HEALTHY";
    else if (this.#isOverdue(app)) app.health = "UNHEALTHY";
  }

  /**
   * Whether an app has failed for long enough: `threshold` checks in a row, or, before its first result, for the time
   * of as many intervals, since checks are more frequent then.
   */
  #isOverdue({ health, failures, threshold, began, interval }: Watched): boolean {
    return health === undefined ? Date.now() - began >= threshold * interval : failures >= threshold;
  }

  /** Reports what has changed. A report that fails is repeated with the next check. */
  async #report(): Promise<void> {
    const changed = this.#apps.filter(({ health, reported }) => health !== undefined && health !== reported);
    if (changed.length === 0) return;
    const apps = changed.map(({ slug, health }) => ({ slug, health: health! }));
    for (const app of changed) app.reported = app.health;
    try {
      await this.client.appHealth(apps);
    } catch (error) {
      const isTemporary = error instanceof OperationFailed && error.isTemporary;
      if (isTemporary) for (const app of changed) app.reported = undefined;
    }
  }
}

/** The header by which a program knows Steward, for a health check at the origin of its app. */
function bearerFor({ url, healthcheckUrl }: ManifestApp, token: string): Record<string, string> {
  const isOwn = url !== null && URL.parse(url)?.origin === URL.parse(healthcheckUrl!)?.origin;
  return isOwn && token !== "" ? { authorization: `Bearer ${token}` } : {};
}

async function responds({ url, headers, interval }: Watched, signal: AbortSignal): Promise<boolean> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(interval, timeout))]);
    const response = await fetch(url, { redirect: "manual", headers, signal: limit });
    await response.body?.cancel();
    return response.status < 400;
  } catch {
    return false;
  }
}
