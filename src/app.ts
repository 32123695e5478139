import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import Koa from "koa";
import type { Logger } from "pino";
import { type Config, listeningOn } from "./config.js";
import { Context, type Services } from "./context.js";
import { type Administrator, firstBoot } from "./domain/boot.js";
import { runInBackground } from "./domain/background.js";
import { Database } from "./domain/database.js";
import { InProcessEvents } from "./domain/outside/in-process-events.js";
import { createPasswords } from "./domain/outside/passwords.js";
import { PostgresEvents } from "./domain/outside/postgres-events.js";
import { Credentials } from "./domain/tokens/credentials.js";
import { freePort } from "./embedded-postgres/folder.js";
import { startCluster } from "./embedded-postgres/index.js";
import { createOrm } from "./entities/orm.js";
import { Documents } from "./graphql/documents.js";
import { createSchema } from "./graphql/index.js";
import { GraphqlOverHttp, graphqlPath } from "./graphql/server.js";
import { graphqlOverSockets } from "./graphql/sockets.js";
import { health, readiness } from "./health.js";
import { baseline, type ContextOf, type Http, type State, upgrades } from "./http/baseline.js";
import { Lifetimes } from "./http/lifetimes.js";
import { Metrics } from "./metrics.js";
import { actorOf } from "./rest/engine/credentials.js";
import { notRouted, restRouter } from "./rest/index.js";
import { explorer } from "./rest/pages/explorer.js";

export interface App {
  /** Where it listens. */
  url: string;
  services: Services;
  /** Set when this start made the first administrator; the password only if it was generated. */
  administrator?: Administrator;
  /** Finishes running requests, ends streams, and gives everything back. */
  close(): Promise<void>;
}

/** What starts before the server and ends after it, in the order of starting. */
export type Closer = () => Promise<unknown>;

/** Wires the program together: the only place that knows every part. */
export async function startApp(settings: Config, log: Logger): Promise<App> {
  const config = settings.port === 0 ? listeningOn(await freePort(), settings) : settings;
  const closers: Closer[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const services = await openServices(config, log, startCluster, closers);
    const administrator = await firstBoot(services);
    closers.push(runInBackground(services));
    const url = await startServer(services, closers);
    return { url, services, administrator, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What requests and commands run with; `start` finds the Postgres beside this process where no URL is set. */
export async function openServices(
  config: Config,
  log: Logger,
  start: typeof startCluster,
  closers: Closer[],
): Promise<Services> {
  const cluster = config.databaseUrl ? undefined : await start({ directory: join(config.dataDir, "postgres"), log });
  if (cluster) closers.push(cluster.stop);
  const url = config.databaseUrl ?? cluster!.url;

  const { orm, pool } = createOrm({ url, pool: config.databasePool, statementTimeout: config.requestTimeout / 2 });
  closers.push(() => orm.close());
  const database = new Database(orm, pool);
  // A database beside this process serves this process alone; one with a URL may serve other replicas, too.
  const events = cluster ? new InProcessEvents({ log }) : new PostgresEvents({ connectionString: url, log });
  closers.push(() => events.close());
  const credentials = new Credentials({ config, database, events, log });
  closers.push(() => credentials.close());
  const passwords = createPasswords(config.hashConcurrency);
  return { config, database, events, passwords, credentials, log };
}

async function startServer(services: Services, closers: Closer[]): Promise<string> {
  const { config } = services;
  const schema = createSchema();
  const documents = new Documents(schema);
  const lifetimes = new Lifetimes();
  const metrics = new Metrics(services);
  let isDraining = false;

  const contextOf: ContextOf = (request, state) => {
    const actor = actorOf(services, request);
    const make = (who: Awaited<typeof actor>) => new Context(services, who, state.facts, state.lifetime);
    return actor instanceof Promise ? actor.then(make) : make(actor);
  };

  const server = createServer({
    maxHeaderSize: 16 * 1024,
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    connectionsCheckingInterval: 5_000,
    // Clients also offer upgrades that nobody here takes, such as h2c: those requests stay plain HTTP.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
  });
  const graphql = await GraphqlOverHttp.start(services, schema, documents, server, contextOf);
  const sockets = graphqlOverSockets(services, schema, documents, contextOf);
  const router = restRouter(services, schema, contextOf);

  const koa = new Koa<State>();
  koa.use(baseline(services, lifetimes, metrics));
  koa.use(health(services, readiness(services, () => isDraining), metrics));
  koa.use(explorer());
  koa.use((http, next) => (http.path === graphqlPath ? graphql.answer(http as Http) : next()));
  koa.use(router.routes() as never);
  koa.use((http) => notRouted(router, http as Http));
  const answer = koa.callback();
  server.on("request", (request, response) => void answer(request, response));
  server.on("upgrade", (request, socket, head) => {
    if (request.url?.split("?", 1)[0] === graphqlPath) sockets.upgrade(request, socket, head);
    else void answer(request, upgradable(request, socket, head));
  });

  await listen(server, config);
  closers.push(async () => {
    isDraining = true;
    lifetimes.endAll();
    await Promise.all([sockets.close(), graphql.stop()]);
  });
  const { address, port } = server.address() as AddressInfo;
  return `http://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

/** An upgrade goes the way of every request: whoever does not take it over answers it as plain HTTP. */
function upgradable(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => socket.end());
  socket.on("error", () => socket.destroy());
  upgrades.set(request, { socket, head });
  return response;
}

function listen(server: Server, { host, port }: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
