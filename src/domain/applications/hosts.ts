import type { Config } from "../../runtime/config.js";
import { readDeploymentId } from "../deployment/deployment.js";
import type { Context } from "../kernel/context.js";
import { badInput } from "../kernel/errors.js";
import { isBelow, isCovered } from "../workspace-proxies/sites.js";
import { parameter, withoutMessage } from "./applications.js";
import { type OpenedMessage, openMessage } from "./sealed-messages.js";

/** A request to an application host. */
export interface HostRequest {
  hostname: string;
  path: string;
  /** Empty, or with a leading question mark. */
  search: string;
}

/** The application key of a message, and the URL without the message. */
export interface Welcome {
  apiKey: string;
  location: string;
}

/**
 * The application hosts of the deployment. Receiving a key is not part of the schema, because it sets the cookie of the
 * browser that opens the URL with the message.
 */
export class ApplicationHosts {
  readonly #wildcard: string;
  readonly #dashboard: URL;

  constructor({ wildcardAccessUrl = "", accessUrl }: Pick<Config, "wildcardAccessUrl" | "accessUrl">) {
    this.#wildcard = wildcardAccessUrl;
    this.#dashboard = new URL(accessUrl);
  }

  /** Returns the hostname of a `Host` header; `undefined` unless it is an application host. */
  nameOf(host: string | undefined): string | undefined {
    if (this.#wildcard === "" || host === undefined) return undefined;
    const hostname = URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
    return isBelow(hostname, this.#wildcard) && hostname !== this.#dashboard.hostname ? hostname : undefined;
  }

  /**
   * Opens the message in a request; returns `undefined` if there is none, or if the host has no applications. Succeeds
   * once per message. Throws the same BAD_USER_INPUT for all invalid messages.
   */
  async receive(ctx: Context, { hostname, path, search }: HostRequest): Promise<Welcome | undefined> {
    const text = new URLSearchParams(search).get(parameter);
    if (text === null || !isCovered(hostname, this.#wildcard)) return undefined;
    const { protocol, port } = this.#dashboard;
    const origin = `${protocol}//${hostname}${port && `:${port}`}`;
    const deploymentId = await readDeploymentId(ctx);
    const message = await openMessage(ctx, text, { recipient: deploymentId, audience: origin });
    if (!message || !(await spend(ctx, message)))
      throw badInput([], "This link is invalid or has expired. Open the application again.");
    return { apiKey: message.apiKey, location: `${origin}${path}${withoutMessage(search)}` };
  }
}

/** Records the use of a message. Returns whether it is the first one. */
async function spend({ db }: Context, { id, expiresAt }: OpenedMessage): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("spentAppConnects")
    .values({ id, expiresAt })
    .onConflict((used) => used.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}
