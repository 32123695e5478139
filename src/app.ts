import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import Koa from "koa";
import type { Logger } from "pino";
import { BuiltInDaemons } from "./built-in-daemons.js";
import { listeningOn } from "./config/config.js";
import { type Config, ConfigError } from "./runtime/config.js";
import { ApplicationHosts } from "./domain/applications/hosts.js";
import { AuditNumbering } from "./domain/audit/numbering.js";
import { AuditSinks } from "./domain/audit/sinks.js";
import { Seals } from "./domain/deployment/signed-values.js";
import { Context, type Services, systemContext } from "./domain/kernel/context.js";
import { readDeploymentId } from "./domain/deployment/deployment.js";
import { type Administrator, firstBoot } from "./domain/deployment/boot.js";
import { runInBackground } from "./domain/jobs.js";
import { openDatabase } from "./infrastructure/database/database.js";
import { Standby } from "./infrastructure/database/standby.js";
import { EndpointFeed } from "./domain/event-endpoints/endpoint-feed.js";
import { EventDeliveries } from "./domain/event-endpoints/endpoint-queue.js";
import { InvitationMails } from "./domain/invitations/invitation-mail.js";
import { AllowedTools } from "./domain/mcp/mcp-settings.js";
import { Dispatcher } from "./domain/notifications/dispatch.js";
import { InputQueue } from "./domain/tasks/input-queue.js";
import { AgentApi } from "./infrastructure/agent-api.js";
import { Transports } from "./domain/notifications/transports.js";
import { Entitlements } from "./domain/entitlements/entitlements.js";
import { BrowserLinks } from "./domain/external-auth/browser-flow.js";
import { ExternalAuthRegistry } from "./domain/external-auth/registry.js";
import { BackgroundTasks } from "./domain/background-tasks.js";
import { LabeledCounter } from "./runtime/labeled-counter.js";
import { StartRefused } from "./runtime/errors.js";
import { DocumentFetches } from "./domain/oauth2/document-fetches.js";
import { DocumentProbe } from "./domain/oauth2/document-probe.js";
import { RecentClients } from "./domain/oauth2/recent-clients.js";
import { checkIssuers } from "./infrastructure/identity-providers.js";
import { outsideFetch } from "./infrastructure/http.js";
import { InProcessEvents } from "./infrastructure/events/in-process-events.js";
import { createPasswords } from "./infrastructure/passwords/passwords.js";
import { PostgresEvents } from "./infrastructure/events/postgres-events.js";
import { Vault } from "./infrastructure/vault.js";
import { RateLimits } from "./domain/rate-limits/rate-limits.js";
import { ScimRequests } from "./domain/scim/scim-requests.js";
import { ProviderLogouts } from "./domain/sign-in/provider-logouts.js";
import { SignInAttempts } from "./domain/sign-in/attempts.js";
import { KeptCredentials } from "./domain/sign-in/kept-credentials.js";
import { SignInProviders } from "./domain/sign-in/provider-registry.js";
import { Credentials } from "./domain/tokens/credentials.js";
import { HealthResults } from "./domain/health/health-checks.js";
import { ProxyHealth } from "./domain/workspace-proxies/health.js";
import { ClusterError, startCluster } from "./infrastructure/embedded-postgres/index.js";
import { Documents } from "./graphql/engine/documents.js";
import { getSchema } from "./graphql/schema.js";
import { GraphqlOverHttp, graphqlPath } from "./graphql/engine/server.js";
import { GraphqlOverSockets } from "./graphql/engine/sockets.js";
import { DaemonSockets } from "./graphql/provisioners/daemon-sockets.js";
import { health, notServing, readiness, type Stage } from "./observability/health.js";
import { baseline, checkPath } from "./http/baseline.js";
import { TimeLimit } from "./http/time-limit.js";
import type { ContextOf, Routed, State } from "./http/exchange.js";
import { cors } from "./http/cors.js";
import { Lifetimes } from "./http/lifetimes.js";
import {
  connectionLimit,
  Connections,
  createListener,
  hangUp,
  listen,
  requestListener,
  upgradable,
} from "./http/listener.js";
import { countVisitors } from "./http/rate-limits.js";
import { RequestLog } from "./http/request-log.js";
import { Routes } from "./http/routes.js";
import { Unread } from "./http/slow-clients.js";
import { Metrics } from "./observability/metrics.js";
import { freePort } from "./runtime/ports.js";
import { actorOf } from "./http/credentials.js";
import { browserPages, routePages } from "./pages/index.js";
import { routeDaemons } from "./rest/provisioner-daemons.js";
import { errorsByPath, routeRows } from "./rest/index.js";
import { routeDocumentSchemas } from "./rest/document-schemas.js";
import { routeInitScripts } from "./rest/init-scripts.js";
import { routeMcp } from "./rest/mcp/route.js";
import { routeLogos } from "./rest/logos.js";
import { ApplicationHostPages } from "./pages/application-hosts.js";
import { graphiqlPage } from "./pages/explorer.js";

export interface App {
  /** URL of the listener. */
  url: string;
  services: Services;
  /** Set if this start created the first administrator. Has the password only if it was generated. */
  administrator?: Administrator;
  /** Completes running requests, ends streams, and releases all resources. */
  close(): Promise<void>;
}

/** Releases a resource. Closers run in reverse order of creation. */
export type Closer = () => Promise<unknown>;

/** Milliseconds to wait for Postgres connections to close. */
const shutdownTimeout = 1_000;

/** Whether the message of an error is meant for operators. All other errors are defects. */
export const explainsItself = (error: unknown): error is Error =>
  [ConfigError, StartRefused, ClusterError].some((kind) => error instanceof kind);

/** Resolves to the result of `work`. Rejects with the signal's reason when it is aborted; `work` is not canceled. */
async function unlessAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort);
  return Promise.race([work(), aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/**
 * Wires the program together; the only place that knows all parts. Aborting the signal cancels a start in progress:
 * resources acquired so far are released, and the signal's reason is thrown.
 */
export async function startApp(settings: Config, log: Logger, signal = new AbortController().signal): Promise<App> {
  const config = settings.port === 0 ? listeningOn(await freePort("127.0.0.1"), settings) : settings;
  const closers: Closer[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const services = await openServices(config, log, startCluster, closers);
    let stopJobs: Closer | undefined;
    closers.push(async () => stopJobs?.());
    // Listens before the first boot, which must not fail because the port is in use before the password was printed.
    const { url, serve, schema } = await startServer(services, closers);
    const administrator = await unlessAborted(signal, async () => {
      const made = await firstBoot(services, signal);
      await services.standby?.start();
      await services.events.start(await readDeploymentId(systemContext(services)));
      await services.entitlements.start();
      await services.transports.start();
      await services.identityProviders.start();
      await services.mcpTools.start();
      return made;
    });
    stopJobs = runInBackground(services);
    services.auditNumbers.start();
    services.documentProbe.start();
    const dispatcher = new Dispatcher(services);
    dispatcher.start();
    closers.push(() => dispatcher.close());
    const auditSinks = new AuditSinks(services);
    auditSinks.start();
    closers.push(() => auditSinks.close());
    const eventDeliveries = new EventDeliveries(services);
    eventDeliveries.start();
    closers.push(() => eventDeliveries.close());
    const endpointFeed = new EndpointFeed(services);
    endpointFeed.start();
    closers.push(() => endpointFeed.close());
    const invitationMails = new InvitationMails(services);
    invitationMails.start();
    closers.push(() => invitationMails.close());
    const inputs = new InputQueue(services);
    inputs.start();
    closers.push(() => inputs.close());
    const daemons = new BuiltInDaemons(services, schema);
    closers.push(() => daemons.close());
    if (config.builtinDaemon) daemons.start();
    serve();
    services.backgroundTasks.run("checkIssuers", () => checkIssuers(services.identityProviders.active, log));
    return { url, services, administrator, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Creates the services that requests and commands use, and adds their closers. If no database URL is set, `start`
 * provides the built-in Postgres.
 */
export async function openServices(
  config: Config,
  log: Logger,
  start: typeof startCluster,
  closers: Closer[],
): Promise<Services> {
  const cluster = config.databaseUrl ? undefined : await start({ directory: join(config.dataDir, "postgres"), log });
  if (cluster) closers.push(() => cluster.stop());
  const url = config.databaseUrl ?? cluster!.url;

  const statementTimeout = config.requestTimeout / 2;
  const directUrl = config.databaseDirectUrl;
  const database = openDatabase({ url, directUrl, pool: config.databasePool, statementTimeout, log });
  // Statements that still run after the timeout have no caller left.
  closers.push(() => Promise.race([database.close(), delay(shutdownTimeout, undefined, { ref: false })]));
  const readUrl = config.databaseReadUrl;
  const standby = readUrl
    ? new Standby({ url: readUrl, pool: config.databasePool, statementTimeout, database, log })
    : undefined;
  if (standby) closers.push(() => Promise.race([standby.close(), delay(shutdownTimeout, undefined, { ref: false })]));
  // The built-in database serves this process only; an external one may serve other replicas.
  const events = cluster
    ? new InProcessEvents({ log })
    : await openEvents({ natsUrl: config.eventsUrl, databaseUrl: directUrl ?? url, log });
  closers.push(() => events.close());
  const credentials = new Credentials({ config, database, events, log });
  closers.push(() => credentials.close());
  const auditNumbers = new AuditNumbering({ database, events, log });
  closers.push(() => auditNumbers.close());
  const scimRequests = new ScimRequests(database, log);
  closers.push(() => scimRequests.close());
  const clients = new RecentClients({ database, events });
  closers.push(async () => clients.close());
  const passwords = createPasswords(config.hashConcurrency, config.hashCost);
  const limits = new RateLimits({ config, database });
  const entitlements = new Entitlements({ config, database, events, log });
  closers.push(() => entitlements.close());
  const backgroundTasks = new BackgroundTasks(log);
  closers.push(() => backgroundTasks.close());
  const externalAuth = new ExternalAuthRegistry(config);
  closers.push(() => externalAuth.close());
  const proxyHealth = new ProxyHealth({ config, database, log });
  closers.push(() => proxyHealth.close());
  const fetch = outsideFetch({ proxy: config.outboundProxy, allow: config.outboundAllow });
  const vault = new Vault();
  const clientDocuments = new DocumentFetches(config, log);
  const documentProbe = new DocumentProbe({ config, clientDocuments, log });
  closers.push(async () => documentProbe.close());
  const transports = new Transports({ config, database, events, vault, log });
  closers.push(() => transports.close());
  const identityProviders = new SignInProviders({ config, database, events, vault, log });
  closers.push(() => identityProviders.close());
  const mcpTools = new AllowedTools({ database, events, log });
  closers.push(() => mcpTools.close());
  const seals = new Seals({ database, vault });
  const agentApi = new AgentApi(config);
  const outside = {
    fetch,
    agentApi,
    clientDocuments,
    documentProbe,
    passwords,
    vault,
    seals,
    identityProviders,
    mcpTools,
    externalAuth,
  };
  const signIns = new LabeledCounter("method", "result");
  const deliveries = { undelivered: 0 };
  return {
    config,
    database,
    standby,
    events,
    credentials,
    callers: credentials,
    auditNumbers,
    clients,
    limits,
    entitlements,
    backgroundTasks,
    signIns,
    deliveries,
    health: new HealthResults(database),
    proxyHealth,
    scimRequests,
    transports,
    ...outside,
    log,
  };
}

/** Opens the bus between replicas. The client of NATS is loaded only if it is used. */
async function openEvents({ natsUrl, databaseUrl, log }: { natsUrl?: string; databaseUrl: string; log: Logger }) {
  if (natsUrl === undefined) return new PostgresEvents({ connectionString: databaseUrl, log });
  const { NatsEvents } = await import("./infrastructure/events/nats-events.js");
  return new NatsEvents({ url: natsUrl, log });
}

interface Server {
  url: string;
  schema: GraphQLSchema;
  serve: () => void;
}

/** Starts to listen. Responds only to health probes until `serve` is called. */
async function startServer(services: Services, closers: Closer[]): Promise<Server> {
  const { config } = services;
  const schema = getSchema();
  const documents = new Documents(schema);
  const lifetimes = new Lifetimes();
  const unread = new Unread(config.unread);
  const metrics = new Metrics(services, unread);
  const observers = [metrics, new RequestLog(services.log, config.requestLog)];
  let stage: Stage = "migrations";
  const ready = readiness(services, () => stage);

  const contextOf: ContextOf = (request, state) => {
    const actor = actorOf(services, request);
    const make = (who: Awaited<typeof actor>) => new Context(services, who, state.details, state.lifetime);
    return actor instanceof Promise ? actor.then(make) : make(actor);
  };
  const graphql = await GraphqlOverHttp.start(services, schema, documents, contextOf);
  const sockets = new GraphqlOverSockets(services, schema, documents, contextOf, unread, observers);
  const daemonSockets = new DaemonSockets(services, schema, unread, observers);
  const browsers = browserPages(services, schema);
  const routes = new Routes();
  routeDaemons(routes, services, contextOf, daemonSockets);
  routeRows(routes, services, schema, contextOf, browsers);
  const mcp = routeMcp(routes, services, schema);
  closers.push(() => mcp.close());
  routeInitScripts(routes, services);
  routeDocumentSchemas(routes, services);
  routeLogos(routes, services);
  const seals = new Seals(services);
  routePages(routes, services, schema, {
    seals,
    attempts: new SignInAttempts(seals),
    keptCredentials: new KeptCredentials(services),
    links: new BrowserLinks(),
    logouts: new ProviderLogouts(),
  });
  const graphqlRouter = routes.of(graphqlPath);
  graphqlRouter.get(graphqlPath, graphiqlPage(services, schema));
  graphqlRouter.get(graphqlPath, graphql.handle).post(graphqlPath, graphql.handle);
  const applicationHosts = config.wildcardAccessUrl
    ? new ApplicationHostPages(services, new ApplicationHosts(config))
    : undefined;
  const requireServing = () => stage === "serving" || notServing();

  const koa = new Koa<State, Routed>();
  const timeLimit = new TimeLimit(services);
  lifetimes.rejectUnreceived = timeLimit.rejectUnreceived;
  koa.use(baseline(services, lifetimes, unread, observers));
  koa.use(errorsByPath(services, browsers.errors));
  koa.use(timeLimit.middleware);
  koa.use(checkPath);
  // Before the probes: no other route of the server is reachable at an application host.
  if (applicationHosts) koa.use(applicationHosts.respondWhile(requireServing));
  koa.use(health(services, ready, metrics));
  koa.use((_, next) => {
    requireServing();
    return next();
  });
  koa.use(cors(config.corsOrigins));
  koa.use(countVisitors(services));
  koa.use(routes.middleware());
  // Koa only reports broken connections here; without a listener, it writes them to standard error.
  koa.on("error", (error) => services.log.debug({ err: error }, "connection failed"));
  const respond = requestListener(koa.callback(), unread);

  const server = createListener();
  new Connections(connectionLimit(config), config, () => lifetimes.busySockets()).bound(server);
  server.on("request", respond);
  server.on("upgrade", (request, socket, head) => {
    const isForGraphql = request.url?.split("?", 1)[0] === graphqlPath && !applicationHosts?.serves(request);
    if (stage === "serving" && isForGraphql) {
      lifetimes.begin(socket);
      sockets.upgrade(request, socket, head);
    } else respond(request, upgradable(request, socket, head));
  });
  const url = await listen(server, config);
  closers.push(async () => {
    stage = "draining";
    sockets.close();
    daemonSockets.close();
    await lifetimes.drain(config.shutdownGrace);
    hangUp(server);
    await graphql.stop();
  });
  return { url, schema, serve: () => void (stage = "serving") };
}
