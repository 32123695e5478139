import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Koa from "koa";
import type { Logger } from "pino";
import { type Config, ConfigError, listeningOn } from "./config/config.js";
import { Context, type Services } from "./domain/kernel/context.js";
import { type Administrator, firstBoot } from "./domain/deployment/boot.js";
import { runInBackground } from "./domain/jobs.js";
import { Database } from "./domain/kernel/database.js";
import { Entitlements } from "./domain/entitlements/entitlements.js";
import { Errands } from "./domain/kernel/errands.js";
import { StartRefused } from "./domain/kernel/errors.js";
import { createIdentityProviders } from "./domain/outside/identity-providers.js";
import { outsideFetch } from "./domain/outside/http.js";
import { InProcessEvents } from "./domain/outside/in-process-events.js";
import { createPasswords } from "./domain/outside/passwords.js";
import { PostgresEvents } from "./domain/outside/postgres-events.js";
import { createMailer } from "./domain/outside/smtp.js";
import { Vault } from "./domain/outside/vault.js";
import { RateLimits } from "./domain/rate-limits/rate-limits.js";
import { Credentials } from "./domain/tokens/credentials.js";
import { ProxyHealth } from "./domain/workspace-proxies/health.js";
import { freePort } from "./embedded-postgres/folder.js";
import { ClusterError, startCluster } from "./embedded-postgres/index.js";
import { createOrm } from "./entities/orm.js";
import { Documents } from "./graphql/engine/documents.js";
import { createSchema } from "./graphql/schema.js";
import { GraphqlOverHttp, graphqlPath } from "./graphql/engine/server.js";
import { graphqlOverSockets } from "./graphql/engine/sockets.js";
import { health, notServing, readiness, type Stage } from "./health.js";
import { baseline } from "./http/baseline.js";
import type { ContextOf, State } from "./http/exchange.js";
import { Connections, connectionLimit } from "./http/connections.js";
import { cors } from "./http/cors.js";
import { Lifetimes } from "./http/lifetimes.js";
import { createListener, hangUp, listen, upgradable } from "./http/listener.js";
import { oneByOne } from "./http/pipelining.js";
import { countVisitors } from "./http/quotas.js";
import { Routes } from "./http/routes.js";
import { Unread } from "./http/unread.js";
import { Metrics } from "./metrics.js";
import { actorOf } from "./http/credentials.js";
import { refuseRoute, routePages } from "./pages/index.js";
import { routeRows } from "./rest/index.js";
import { ApplicationHosts } from "./pages/application-hosts.js";
import { asksForGraphiql, graphiqlPage } from "./pages/explorer.js";

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

/** Milliseconds for the goodbyes to Postgres. */
const farewell = 1_000;

/** What keeps the program from running in a way that its message explains to people; anything else is a defect. */
export const explainsItself = (error: unknown): error is Error =>
  [ConfigError, StartRefused, ClusterError].some((kind) => error instanceof kind);

/** What work gives. Once the signal is aborted its reason is thrown, and the work is left to itself. */
async function unlessAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  return Promise.race([work(), aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/**
 * Wires the program together: the only place that knows every part. The signal ends a start that is under way: what was
 * begun is undone, and the signal's reason is thrown.
 */
export async function startApp(settings: Config, log: Logger, signal = new AbortController().signal): Promise<App> {
  const config = settings.port === 0 ? listeningOn(await freePort(), settings) : settings;
  const closers: Closer[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const services = await openServices(config, log, startCluster, closers);
    let stopJobs: Closer | undefined;
    closers.push(async () => stopJobs?.());
    // Listens first: a first boot must not end, its password untold, because the port is taken.
    const { url, serve } = await startServer(services, closers);
    const administrator = await unlessAborted(signal, async () => {
      const made = await firstBoot(services);
      await services.entitlements.start();
      return made;
    });
    stopJobs = runInBackground(services);
    serve();
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
  if (cluster) closers.push(() => cluster.stop());
  const url = config.databaseUrl ?? cluster!.url;

  const { orm, pool } = createOrm({ url, pool: config.databasePool, statementTimeout: config.requestTimeout / 2 });
  // A statement that is still at work by then has lost its caller: nobody waits for it.
  closers.push(() => Promise.race([orm.close(), delay(farewell, undefined, { ref: false })]));
  const database = new Database(orm, pool, log);
  // A database beside this process serves this process alone; one with a URL may serve other replicas, too.
  const events = cluster ? new InProcessEvents({ log }) : new PostgresEvents({ connectionString: url, log });
  closers.push(() => events.close());
  const credentials = new Credentials({ config, database, events, log });
  closers.push(() => credentials.close());
  const passwords = createPasswords(config.hashConcurrency);
  const limits = new RateLimits({ config, database });
  const entitlements = new Entitlements({ config, database, events, log });
  closers.push(() => entitlements.close());
  const identityProviders = createIdentityProviders(config);
  const errands = new Errands(log);
  closers.push(() => errands.close());
  const proxyHealth = new ProxyHealth({ config, database, log });
  closers.push(() => proxyHealth.close());
  const fetch = outsideFetch({ allow: config.outboundAllow });
  const outside = { fetch, passwords, vault: new Vault(), identityProviders, mailer: createMailer(config) };
  return { config, database, events, credentials, limits, entitlements, errands, proxyHealth, ...outside, log };
}

/** Listens, and answers health probes alone until it is told to serve. */
async function startServer(services: Services, closers: Closer[]): Promise<{ url: string; serve: () => void }> {
  const { config } = services;
  const schema = createSchema();
  const documents = new Documents(schema);
  const lifetimes = new Lifetimes();
  const unread = new Unread(config.unread);
  const metrics = new Metrics(services, unread);
  let stage: Stage = "migrations";
  const ready = readiness(services, () => stage);

  const contextOf: ContextOf = (request, state) => {
    const actor = actorOf(services, request);
    const make = (who: Awaited<typeof actor>) => new Context(services, who, state.facts, state.lifetime);
    return actor instanceof Promise ? actor.then(make) : make(actor);
  };
  const graphql = await GraphqlOverHttp.start(services, schema, documents, contextOf);
  const sockets = graphqlOverSockets(services, schema, documents, contextOf, unread);
  const routes = new Routes(refuseRoute);
  routeRows(routes, services, schema, contextOf);
  routePages(routes, services, schema);
  const graphiql = graphiqlPage(services, schema);
  routes.register(graphqlPath, ["GET", "POST"], (http) =>
    asksForGraphiql(http) ? graphiql(http) : graphql.answer(http),
  );
  const applicationHosts = new ApplicationHosts(services);

  const koa = new Koa<State>();
  koa.use(baseline(services, lifetimes, unread, metrics));
  const probes = health(services, ready, metrics);
  koa.use((http, next) => (applicationHosts.of(http.req) ? next() : probes(http, next)));
  koa.use((_, next) => (stage === "serving" ? next() : notServing()));
  koa.use(applicationHosts.answer);
  if (config.corsOrigins.length > 0) koa.use(cors(config.corsOrigins));
  koa.use(countVisitors(services));
  koa.use((http) => routes.answer(http));
  // What is left to Koa is connections that break; without a listener it writes them to standard error.
  koa.on("error", (error) => services.log.debug({ err: error }, "connection failed"));
  const answer = koa.callback();

  const server = createListener();
  new Connections(connectionLimit(config), config, () => lifetimes.busySockets()).bound(server);
  server.on(
    "request",
    oneByOne((request, response) => void answer(request, response)),
  );
  server.on("upgrade", (request, socket, head) => {
    const isForGraphql = request.url?.split("?", 1)[0] === graphqlPath && !applicationHosts.of(request);
    if (stage === "serving" && isForGraphql) {
      lifetimes.begin(socket);
      sockets.upgrade(request, socket, head);
    } else void answer(request, upgradable(request, socket, head));
  });
  const url = await listen(server, config);
  closers.push(async () => {
    stage = "draining";
    sockets.close();
    await lifetimes.drain(config.shutdownGrace);
    hangUp(server);
    await graphql.stop();
  });
  return { url, serve: () => void (stage = "serving") };
}
