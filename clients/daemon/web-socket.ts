// The transport for daemons outside the server: graphql-transport-ws over a WebSocket.
import type { ClientRequest, IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { type Closing, type Connection, ConnectionLost, openConnection } from "../api/connection.js";
import { protocolVersion } from "./protocol.js";
import { operationError, Refused, type Transport } from "./transport.js";
import { version } from "../api/version.js";

/** How a daemon introduces itself. */
export interface Introduction {
  /** Origin of the server. */
  url: string;
  organization: string;
  name: string;
  types: readonly string[];
  tags: readonly string[];
  key: string;
}

/** Milliseconds for the handshake of the WebSocket, and then for that of the protocol. */
const timeout = 15_000;
/** Milliseconds without any message after which a connection is given up. The server pings every 20 seconds. */
const silence = 60_000;
/** Close codes after which a new connection would be closed again, with what to do. */
const finalCodes: Record<number, string> = {
  4403:
    "The server closed the connection: the secret of the key was rotated and the former one has ended, the key or this " +
    "daemon was deleted, the session ended, or its user may not connect daemons any more. " +
    "Set STEWARD_PROVISIONER_KEY to the new secret, or create a key with createProvisionerKey.",
  4410:
    "Another daemon with the same name and key has connected. " +
    "Stop one of them, or set STEWARD_PROVISIONER_NAME to another name.",
};

/** Statuses of the handshake that a later attempt can change. */
const isTemporary = (status: number) => status === 408 || status === 429 || status >= 500;

/** Connects to a server. */
export class WebSocketTransport implements Transport {
  /** After one success, only a rejected credential is final: any other status may come from a proxy in between. */
  #wasConnected = false;

  constructor(
    private readonly introduction: Introduction,
    private readonly limits = { silence, timeout },
  ) {}

  async connect(): Promise<Connection> {
    let socket: SocketWithHeaders | undefined;
    const { url, headers } = request(this.introduction);
    const { silence: quiet, timeout: handshake } = this.limits;
    const keepSocket = (made: SocketWithHeaders) => (socket = made);
    try {
      const connection = await openConnection({
        url,
        webSocketImpl: socketClass(headers, { silence: quiet, handshake }, keepSocket),
        timeout: handshake,
        failureOf: operationError,
      });
      this.#wasConnected = true;
      return connection;
    } catch (error) {
      throw this.explainFailure(error as Error, socket);
    }
  }

  /** Returns a `Refused` if a retry cannot succeed. */
  explainFailure(error: Error, socket: SocketWithHeaders | undefined): Error {
    const { rejection, failure } = socket ?? {};
    if (rejection) {
      const { status, message } = rejection;
      const isFinal = status === 401 || (!this.#wasConnected && !isTemporary(status));
      const text = `The server rejected the connection with status ${status}${message && `: ${message}`}`;
      return isFinal ? new Refused(`${text}\n${advice(status, this.introduction)}`) : new Error(text);
    }
    const final = error instanceof ConnectionLost && error.closing && finalClosing(error.closing);
    return final || (failure === undefined ? error : new Error(failure));
  }
}

function advice(status: number, { url, organization }: Introduction): string {
  if (status === 401) return "Check STEWARD_PROVISIONER_KEY: createProvisionerKey creates a key and shows it once.";
  if (status === 404)
    return `Check STEWARD_PROVISIONER_ORGANIZATION: the key does not belong to the organization "${organization}".`;
  if (status === 409) return "Set STEWARD_PROVISIONER_NAME to a name that no other key or user has taken.";
  if (status === 403) return "The user of this session may not run provisioners in this organization.";
  return `Check that STEWARD_URL (${url}) is a Steward server of a matching version.`;
}

function request({ url, organization, name, types, tags, key }: Introduction) {
  const target = new URL(`/api/v2/organizations/${encodeURIComponent(organization)}/provisionerdaemons/serve`, url);
  target.protocol = target.protocol.replace("http", "ws");
  for (const type of types) target.searchParams.append("provisioner", type);
  target.searchParams.set("name", name);
  for (const tag of tags) target.searchParams.append("tag", tag);
  target.searchParams.set("version", protocolVersion);
  const credential = isProvisionerKey(key) ? "Service-Provisioner-Key" : "Service-Session-Token";
  return { url: target.href, headers: { [credential]: key, "Service-Build-Version": version } };
}

/** Whether a credential is a provisioner key. Otherwise it is the token of a user's session. */
export const isProvisionerKey = (text: string): boolean => text.startsWith("stwk_");

interface SocketWithHeaders {
  /** The response, if the server did not switch protocols. */
  rejection?: { status: number; message: string };
  /** The error of the network, if there was one. */
  failure?: string;
}

/** Returns a WebSocket class that sends headers, keeps why a handshake failed, and ends silent connections. */
function socketClass(
  headers: Record<string, string>,
  limits: { silence: number; handshake: number },
  onOpen: (socket: SocketWithHeaders) => void,
) {
  return class extends WebSocket implements SocketWithHeaders {
    rejection?: { status: number; message: string };
    failure?: string;
    readonly #watchdog: NodeJS.Timeout;

    constructor(address: string, protocols: string | string[]) {
      super(address, protocols, { headers, handshakeTimeout: limits.handshake, perMessageDeflate: false });
      onOpen(this);
      this.#watchdog = setTimeout(() => this.terminate(), limits.silence).unref();
      const heard = () => void this.#watchdog.refresh();
      this.on("open", heard).on("message", heard).on("ping", heard);
      this.on("close", () => clearTimeout(this.#watchdog));
      this.on("error", (error) => (this.failure ??= failureOf(error)));
      this.on("unexpected-response", (sent: ClientRequest, response: IncomingMessage) => {
        void firstBytes(response).then((body) => {
          this.rejection = { status: response.statusCode ?? 0, message: messageIn(body) };
          sent.destroy();
          this.terminate();
        });
      });
    }
  };
}

/** The message of a network error; that of a name with several addresses is in its parts. */
function failureOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  return (first ?? error).message;
}

async function firstBytes(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > 16_384) break;
    }
  } catch {
    // The part that arrived is enough.
  }
  return text;
}

function messageIn(body: string): string {
  try {
    const { message, validations = [] } = JSON.parse(body) as {
      message: string;
      validations?: Array<{ detail: string }>;
    };
    return [message, ...validations.map(({ detail }) => detail)].join(" ");
  } catch {
    return "";
  }
}

/** Returns why a closed connection must not be opened again, if so. */
export const finalClosing = ({ code }: Closing): Refused | undefined =>
  finalCodes[code] === undefined ? undefined : new Refused(finalCodes[code]);
