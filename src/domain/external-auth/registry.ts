import type { Config } from "../../runtime/config.js";
import { SingleFlight } from "../../runtime/concurrency.js";
import { ExternalProviders } from "./external-providers.js";
import type { ExternalAuthProvider } from "./configuration.js";

type Settings = Pick<Config, "externalAuth" | "externalAuthTimeout" | "externalAuthParallel" | "outboundProxy">;

/** The configured providers of a server process, and its calls to them. */
export class ExternalAuthRegistry {
  /** In the order of the configuration. */
  readonly providers: readonly ExternalAuthProvider[];
  readonly calls: ExternalProviders;
  /** Refreshes and validations in progress. They continue when their callers disconnect. */
  readonly singleFlight = new SingleFlight();
  readonly #byId: ReadonlyMap<string, ExternalAuthProvider>;

  constructor(settings: Settings) {
    this.providers = settings.externalAuth;
    this.calls = new ExternalProviders(settings);
    this.#byId = new Map(this.providers.map((provider) => [provider.id.toLowerCase(), provider]));
  }

  /** Finds a provider by its id, in any letter case. */
  find(id: string): ExternalAuthProvider | undefined {
    return this.#byId.get(id.toLowerCase());
  }

  /** Waits for work in progress, so that no refreshed token is lost. */
  close(): Promise<void> {
    return this.singleFlight.close();
  }
}
