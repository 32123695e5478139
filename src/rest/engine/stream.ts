import type { Socket } from "node:net";
import type { GraphQLSchema } from "graphql";
import { type WebSocket, WebSocketServer } from "ws";
import type { Context, Services } from "../../domain/kernel/context.js";
import type { Result } from "../../graphql/engine/result.js";
import { send, type Http, upgrades } from "../../http/exchange.js";
import type { End } from "../../http/lifetimes.js";
import { type Beating, Heartbeat, Pings } from "../../http/heartbeat.js";
import type { Unread } from "../../http/unread.js";
import { headersAround } from "../../http/write.js";
import type { StreamOptions } from "./area.js";
import type { Endpoint } from "./respond.js";
import { eventShapes, type Write, writer } from "./render.js";

/** Why a stream ends, as WebSocket close codes (RFC 6455 §7.4.1 and the registry that it opens; 4403 is ours). */
const ended = { session: 4403, restart: 1012, stalled: 1013 } as const;

/** One event on its way out: the item's JSON, or an extra that only SSE sends under a name of its own. */
interface Outgoing {
  json: string;
  /** Resumes after this event. */
  id?: string;
  /** Set for extras. */
  event?: string;
}

/** One way to write events to one client. */
interface Channel extends Beating {
  /** Resolves when the event has left this process; with false when it cannot any more. */
  write(event: Outgoing): Promise<boolean>;
  /** Gives a sign of life. */
  beat(): void;
  end(reason: keyof typeof ended): void;
}

/** Serves a subscription as WebSocket, SSE or NDJSON: three encoders of one iterator. */
export function streamWith(
  schema: GraphQLSchema,
  services: Services,
  endpoint: Endpoint,
): (http: Http) => Promise<void> {
  const { operation, row } = endpoint;
  const options = row[4]?.stream ?? {};
  const spell = spellerOf(schema, endpoint, options);
  const heartbeat = new Heartbeat(services.config.unread.patience / 2);

  return async (http) => {
    try {
      const { ctx, variables } = await endpoint.admit(http);
      const events = await operation.start(ctx, { ...variables, ...resumption(http, options) });
      // What can be refused is refused here, before the first byte.
      if (!(Symbol.asyncIterator in events)) throw events.errors![0];
      if (http.method === "HEAD") {
        http.state.lifetime().abort("gone" satisfies End);
        return send(http, { status: 200, headers: { "Content-Type": streamType(http) }, body: "" });
      }
      const channel = await open(http);
      const life = http.state.lifetime();
      const stopWatching = services.credentials.watch(ctx.actor, () => life.abort("session" satisfies End));
      void pass(ctx, events, channel).finally(stopWatching);
    } catch (error) {
      send(http, endpoint.fail(http, error));
    }
  };

  async function pass(ctx: Context, events: AsyncGenerator<Result>, channel: Channel): Promise<void> {
    heartbeat.add(channel);
    try {
      for await (const event of events) if (!(await channel.write(spell(event)))) break;
    } catch (error) {
      ctx.log.error({ err: error, requestId: ctx.request.id }, "stream failed");
    } finally {
      heartbeat.delete(channel);
      const reason = ctx.signal.reason as End | undefined;
      channel.end(reason === "session" || reason === "stalled" ? reason : "restart");
    }
  }
}

/** Where an event source goes on that lost its connection. A malformed `Last-Event-ID` is ignored. */
function resumption(http: Http, { resume }: StreamOptions): Record<string, string> {
  const id = http.get("last-event-id");
  return resume && /^\d{1,15}$/.test(id) ? { [resume]: id } : {};
}

const eventStream = "text/event-stream";
const jsonLines = "application/x-ndjson";

/** The form of a stream that the client asked for. */
const streamType = (http: Http) => (/\btext\/event-stream\b/i.test(http.get("accept")) ? eventStream : jsonLines);

/** Responds with a stream: a WebSocket if the client upgrades, else what it accepts. */
function open(http: Http): Promise<Channel> | Channel {
  const outlet = new Outlet(http.req.socket, http.state.unread, http.state.lifetime());
  const upgrade = upgrades.get(http.req);
  if (!upgrade) return (streamType(http) === eventStream ? serverSentEvents : lines)(http, outlet);
  http.res.statusCode = 101;
  http.res.detachSocket(upgrade.socket as Socket);
  // HTTP ends here. Whoever waits for the end of the answer lets go, and the request can be forgotten.
  http.res.emit("finish");
  return new Promise((resolve) => {
    sockets.handleUpgrade(http.req, upgrade.socket, upgrade.head, (peer) => resolve(new Frames(peer, outlet)));
  });
}

/** What is common to writing to a client, whatever the form. */
class Outlet {
  constructor(
    readonly socket: Socket,
    readonly unread: Unread,
    readonly life: AbortController,
  ) {}

  stalled = (): void => this.life.abort("stalled" satisfies End);

  /** Waits until a write has left, or its stream has ended. */
  leave(write: (done: (error?: Error | null) => void) => void): Promise<boolean> {
    const { signal } = this.life;
    return new Promise((resolve) => {
      const stop = () => resolve(false);
      signal.addEventListener("abort", stop);
      write((error) => {
        signal.removeEventListener("abort", stop);
        resolve(!error);
      });
      this.unread.wrote(this.socket, this.stalled);
    });
  }
}

function spellerOf(schema: GraphQLSchema, { operation }: Endpoint, { events = {}, id }: StreamOptions) {
  const writers = new Map<string, Write>(
    [...eventShapes(schema, operation, id ? [id] : [])].map(([type, shape]) => [type, writer(shape)]),
  );
  return ({ data, errors }: Result): Outgoing => {
    if (errors) throw errors[0];
    const [event] = Object.values(data!) as [{ __typename: string; [field: string]: unknown }];
    return {
      json: writers.get(event.__typename)!(event),
      id: id && (event[id] as string | undefined),
      event: events[event.__typename],
    };
  };
}

const sockets = new WebSocketServer({ noServer: true, maxPayload: 4096, perMessageDeflate: false, autoPong: false });

/** WebSocket: a text frame per item; client frames are ignored; extras are not sent. */
class Frames implements Channel {
  readonly #pings: Pings;

  constructor(
    private readonly peer: WebSocket,
    private readonly outlet: Outlet,
  ) {
    this.#pings = new Pings(peer, outlet.stalled);
    peer.on("error", () => peer.terminate());
  }

  async write({ json, event }: Outgoing): Promise<boolean> {
    return event !== undefined || this.outlet.leave((done) => this.peer.send(json, done));
  }

  beat(): void {
    this.#pings.beat();
  }

  end(reason: keyof typeof ended): void {
    this.peer.close(ended[reason]);
  }
}

/** SSE (HTML Living Standard, server-sent events): items as default events, extras under their names. */
function serverSentEvents(http: Http, outlet: Outlet): Channel {
  return body(
    http,
    outlet,
    eventStream,
    "retry: 2000\n\n",
    ":\n\n",
    ({ json, id, event }) => `${event ? `event: ${event}\n` : ""}${id ? `id: ${id}\n` : ""}data: ${json}\n\n`,
  );
}

/** NDJSON: a line per item; extras are not sent. */
function lines(http: Http, outlet: Outlet): Channel {
  return body(http, outlet, jsonLines, "", "\n", ({ json, event }) => (event ? "" : `${json}\n`));
}

function body(
  { res, state }: Http,
  outlet: Outlet,
  type: string,
  first: string,
  beat: string,
  encode: (event: Outgoing) => string,
): Channel {
  res.writeHead(200, { ...headersAround(state), "Content-Type": type, "X-Accel-Buffering": "no" });
  res.flushHeaders();
  if (first) res.write(first);
  return {
    write(event) {
      const text = encode(event);
      return text ? outlet.leave((done) => res.write(text, done)) : Promise.resolve(true);
    },
    beat: () => void (res.writableLength === 0 && res.write(beat)),
    // What a stalled client has not taken would wait for longer.
    end: (reason) => void (reason === "stalled" ? res.destroy() : res.end()),
  };
}
