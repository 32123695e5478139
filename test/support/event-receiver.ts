// A receiver of events, which keeps what it is sent and verifies the signatures by the rules of Standard Webhooks.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Anything, type Client, type World } from "./world.js";

/** Lets a server send events to this machine. */
export const toThisMachine = { STEWARD_OUTBOUND_ALLOW: "127.0.0.0/8" };

/** A message that was received. */
export interface Received {
  /** Its `webhook-id`. */
  id: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: Anything;
}

export class EventReceiver {
  readonly received: Received[] = [];
  /** Responds to a message. Default: with status 204. */
  respond: (message: Received, response: ServerResponse) => void = (_, response) => void response.writeHead(204).end();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { headers } = request;
        const message = { id: String(headers["webhook-id"]), headers, text, body: JSON.parse(text) };
        this.received.push(message);
        this.respond(message, response);
      });
    });
  }

  static async open(port = 0): Promise<EventReceiver> {
    const receiver = new EventReceiver();
    await once(receiver.#server.listen(port, "127.0.0.1"), "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/events`;
  }

  /** The types and names of objects of what was received. */
  get seen(): string[] {
    return this.received.map(({ body }) => `${body.type} ${body.data.object.name}`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((done) => this.#server.close(done));
  }
}

/** Fails a message, and asks for an hour until the next attempt: none comes while a test looks at this one. */
export const fail = (response: ServerResponse, status: number, text?: string): void =>
  void response.writeHead(status, { "Content-Type": "text/plain", "Retry-After": "3600" }).end(text);

/** The signature of a message with a secret. */
export function signedBy(secret: string, { id, headers, text }: Received): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signed = `${id}.${String(headers["webhook-timestamp"])}.${text}`;
  return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
}

const fields = `id name url eventTypes isThin state failingSince lastFailure deliveredAt queuedCount maker { id }
  secrets { id suffix } organization { id }`;

/** Creates an endpoint as the owner, or as another client. */
export async function makeEndpoint(
  w: World,
  url: string,
  input: Record<string, unknown> = {},
  by: Client = w.as(w.owner),
) {
  const given = { organization: "default", name: `endpoint ${new URL(url).port}`, url, ...input };
  const { createEventEndpoint: made } = await by.graphql(
    `mutation($input: CreateEventEndpointInput!) { createEventEndpoint(input: $input) { secret eventEndpoint { ${fields} } } }`,
    { input: given },
  );
  return { id: made.eventEndpoint.id, ...made };
}

/** Runs a mutation of endpoints. Returns its payload. */
export async function changeEndpoint(
  by: Client,
  name: string,
  input: object,
  selection = `eventEndpoint { ${fields} }`,
) {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input!`;
  return (await by.graphql(`mutation($input: ${type}) { ${name}(input: $input) { ${selection} } }`, { input }))[name];
}

export const readEndpoint = async (by: Client, id: string) =>
  (await by.graphql(`query($id: UUID!) { eventEndpoint(id: $id) { ${fields} } }`, { id })).eventEndpoint;

/** The log of an endpoint, the latest first. */
export async function deliveriesOf(by: Client, id: string, args = "first: 1000") {
  const { eventEndpoint } = await by.graphql(
    `query($id: UUID!) { eventEndpoint(id: $id) { deliveries(${args}) { nodes {
       id eventId type state attempts sequence createdAt nextAttemptAt finishedAt
       log { time duration status excerpt failure } } } } }`,
    { id },
  );
  return eventEndpoint.deliveries.nodes;
}
