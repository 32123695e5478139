import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Context } from "../../domain/kernel/context.js";
import { isRefusal } from "../../domain/kernel/watching.js";
import type { Result } from "../../graphql/engine/result.js";
import { type Http, type Middleware, upgrades } from "../../http/exchange.js";
import type { End } from "../../http/lifetimes.js";
import { type Beating, Heartbeat, Pings } from "../../http/heartbeat.js";
import { quotaHeaders } from "../../http/rate-limits.js";
import type { Unread } from "../../http/slow-clients.js";
import type { StreamOptions } from "./area.js";
import type { Endpoint } from "./endpoint.js";
import { spell } from "./render.js";

/** Why a stream ends, as WebSocket close codes (RFC 6455 §7.4.1 and the registry that it opens; 4403 is ours). */
const ended = { session: 4403, refused: 4403, restart: 1012, stalled: 1013 } as const;

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
  /** Whether it is lines of JSON, whose readers may take a blank line, the heartbeat, for a fault. */
  readonly isOfLines?: boolean;
  /** Sends a heartbeat. */
  beat(): void;
  end(reason: keyof typeof ended): void;
}

/** Serves a subscription as WebSocket, SSE or NDJSON: three encoders of one iterator. */
export function streamWith(endpoint: Endpoint): Middleware {
  const { services, route } = endpoint;
  const options = route.options.stream ?? {};
  const write = spellerOf(endpoint, options);
  const heartbeat = new Heartbeat(services.config.unread.timeout / 2);

  return async (http) => {
    const { ctx, operation, variables } = await endpoint.admit(http);
    const life = http.state.lifetime();
    const release = services.limits.sockets.hold(ctx.actor);
    let events;
    try {
      events = await operation.start({ ...variables, ...resumption(http, options) });
      // Every rejection happens here, before the first byte.
      if (!(Symbol.asyncIterator in events)) throw events.errors![0];
    } catch (error) {
      release();
      throw error;
    }
    // A request that timed out has its response.
    if (http.method === "HEAD" || http.headerSent) {
      release();
      life.abort("gone" satisfies End);
      http.status = 200;
      http.set("Content-Type", streamType(http));
      return;
    }
    http.respond = false;
    const channel = await open(http);
    const isBeating = !(http.query.heartbeat === "off" && channel.isOfLines);
    const stopWatching = services.credentials.watch(ctx.actor, () => life.abort("session" satisfies End));
    if (isBeating) heartbeat.add(channel);
    void pass(ctx, events, channel, write).finally(() => {
      heartbeat.delete(channel);
      stopWatching();
      release();
    });
  };
}

/** Writes events until they end or the client is gone, and then ends the channel. */
async function pass(
  ctx: Context,
  events: AsyncGenerator<Result>,
  channel: Channel,
  write: (event: Result) => Outgoing,
): Promise<void> {
  let isRefused = false;
  try {
    for await (const event of events) if (!(await channel.write(write(event)))) break;
  } catch (error) {
    isRefused = isRefusal(error);
    if (!isRefused) ctx.log.error({ err: error, requestId: ctx.request.id }, "stream failed");
  } finally {
    const reason = ctx.signal.reason as End | undefined;
    if (reason === "session" || reason === "stalled") channel.end(reason);
    else channel.end(isRefused ? "refused" : "restart");
  }
}

/**
 * The variable that resumes a stream after the last event a client received. A malformed `Last-Event-ID` is ignored.
 */
function resumption(http: Http, { resume, isIdOfEvent }: StreamOptions): Record<string, string> {
  const id = http.get("last-event-id");
  return resume && (isIdOfEvent ? /^\d{1,15}-[0-9a-f-]{36}$/ : /^\d{1,15}$/).test(id) ? { [resume]: id } : {};
}

/** The media type of a stream, by the Accept header. */
const streamType = (http: Http): keyof typeof formats =>
  /\btext\/event-stream\b/i.test(http.get("accept")) ? "text/event-stream" : "application/x-ndjson";

/** Responds with a stream: a WebSocket if the client upgrades, else what it accepts. */
function open(http: Http): Promise<Channel> | Channel {
  const outlet = new Outlet(http.req.socket, http.state.unread, http.state.lifetime());
  const upgrade = upgrades.get(http.req);
  if (!upgrade) return bodyChannel(http, outlet);
  http.res.statusCode = 101;
  http.res.detachSocket(upgrade.socket as Socket);
  // HTTP ends here: listeners for the end of the response are released, and so is the request.
  http.res.emit("finish");
  return new Promise((resolve) => {
    sockets.handleUpgrade(http.req, upgrade.socket, upgrade.head, (peer) => resolve(new Frames(peer, outlet)));
  });
}

/** Writes to a client, in whatever format. */
export class Outlet {
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

function spellerOf({ result }: Endpoint, { events = {}, id }: StreamOptions) {
  // Results that several watchers share are written once.
  const known = new WeakMap<object, Outgoing>();
  const write = (data: object): Outgoing => {
    const [event] = Object.values(data) as [{ __typename: string; [field: string]: unknown }];
    return {
      json: JSON.stringify(spell(result.events.get(event.__typename)!, event)),
      id: id && (event[id] as string | undefined),
      event: events[event.__typename],
    };
  };
  return ({ data, errors }: Result): Outgoing => {
    if (errors) throw errors[0];
    const outgoing = known.get(data!) ?? write(data!);
    known.set(data!, outgoing);
    return outgoing;
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

/** Ways to write events as a response body, by media type. */
const formats = {
  /** SSE (HTML Living Standard, server-sent events): items as default events, extras under their names. */
  "text/event-stream": {
    first: "retry: 2000\n\n",
    beat: ":\n\n",
    encode: ({ json, id, event }: Outgoing) =>
      `${event ? `event: ${event}\n` : ""}${id ? `id: ${id}\n` : ""}data: ${json}\n\n`,
  },
  /** NDJSON: a line per item; extras are not sent. */
  "application/x-ndjson": {
    first: "",
    beat: "\n",
    encode: ({ json, event }: Outgoing) => (event ? "" : `${json}\n`),
  },
};

function bodyChannel(http: Http, outlet: Outlet): Channel {
  const { res, state } = http;
  const type = streamType(http);
  const { first, beat, encode } = formats[type];
  http.status = 200;
  http.set({ ...quotaHeaders(state.details), "Content-Type": type, "X-Accel-Buffering": "no" });
  http.flushHeaders();
  if (first) res.write(first);
  return {
    isOfLines: type === "application/x-ndjson",
    write(event) {
      const text = encode(event);
      return text ? outlet.leave((done) => res.write(text, done)) : Promise.resolve(true);
    },
    beat: () => void (res.writableLength === 0 && res.write(beat)),
    // Ending the response would wait for a stalled client to read the rest.
    end: (reason) => void (reason === "stalled" ? res.destroy() : res.end()),
  };
}
