import type { Logger } from "pino";
import type { Config } from "../../runtime/config.js";
import { day, minute } from "../../runtime/durations.js";
import { profileIn } from "./client-documents.js";
import type { DocumentFetches } from "./document-fetches.js";

/** Milliseconds until the next try, after a success and after a failure. */
const untilNext = day;
const untilRetry = 10 * minute;

interface ProbeOptions {
  config: Config;
  clientDocuments: DocumentFetches;
  log: Logger;
}

/**
 * Finds out whether this server can fetch client metadata documents, by fetching one that the operator names. Clients
 * prefer documents wherever they are announced, so that a server without a way out must not announce them. One per
 * replica.
 */
export class DocumentProbe {
  readonly #options: ProbeOptions;
  #hasWorked: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ProbeOptions) {
    this.#options = options;
  }

  /** Whether the metadata of this server announces documents. They may be accepted even if not. */
  get isAnnounced(): boolean {
    return this.#options.config.oauth2Cimd ?? this.#hasWorked === true;
  }

  /** Checks in the background, now and from time to time, if the setting of the probe decides. */
  start(): void {
    const { oauth2Cimd, oauth2CimdProbe, oauth2Enabled } = this.#options.config;
    if (oauth2Enabled && oauth2Cimd === undefined && oauth2CimdProbe !== undefined) void this.check(oauth2CimdProbe);
  }

  /** Fetches the document, and notes whether that works. Never rejects. */
  async check(url: string): Promise<void> {
    const { config, clientDocuments, log } = this.#options;
    clearTimeout(this.#timer);
    const failure = await clientDocuments.fetch(url).then(
      ({ content }) => profileIn(url, content, config),
      (error: Error) => error,
    );
    const works = !(failure instanceof Error);
    if (works && this.#hasWorked === false) log.info({ url }, "Client metadata documents are announced again.");
    if (!works && this.#hasWorked !== false)
      log.warn(
        { url, err: failure },
        "Client metadata documents are not announced, because the one in STEWARD_OAUTH2_CIMD_PROBE cannot be used.",
      );
    this.#hasWorked = works;
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.check(url), works ? untilNext : untilRetry).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
