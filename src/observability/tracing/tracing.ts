// Makes spans of what requests, operations, and statements publish on diagnostics channels. Loaded only if traces are
// exported. The packages of OpenTelemetry read their variables (OTEL_…) from the environment by themselves.
import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Context,
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import type { Logger } from "pino";
import type { OperationDetails } from "../../domain/kernel/request.js";
import type { Http } from "../../http/exchange.js";
import { isProbe } from "../../http/request-log.js";
import { version } from "../../runtime/program-files.js";
import type { Exporter } from "./settings.js";

/** Milliseconds to wait for the collector at the end. */
const shutdownTimeout = 2_000;

/** Characters of a statement's text that are exported. */
const longestStatement = 4_096;

/** How the messages of a channel become spans. */
interface Source<Message> {
  channel: string;
  /** Begins the span of a message, or none. */
  begin: (message: Message, parent: Context | undefined) => Beginning | undefined;
  /** Adds what is known at the end. */
  end: (message: Message, span: Span) => void;
}

/** How a span begins. Without a parent, it belongs to the current span. */
interface Beginning {
  name: string;
  options?: SpanOptions;
  parent?: Context;
}

/** Exports traces. Spans have no values of variables or statements, and no headers, paths, or bodies. */
export class Tracing {
  /** The span that the current work belongs to. */
  readonly #current = new AsyncLocalStorage<Context | undefined>();
  readonly #tracer: Tracer;
  readonly #ends: Array<() => void>;

  private constructor(private readonly provider: BasicTracerProvider) {
    this.#tracer = provider.getTracer("steward", version);
    this.#ends = [this.#follow(requests), this.#follow(operations), this.#follow(statements)];
  }

  static async start(exporter: Exporter, log: Logger): Promise<Tracing> {
    const tell = (message: string) => log.warn({ detail: message }, "tracing");
    diag.setLogger({ error: tell, warn: tell, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
    const own = resourceFromAttributes({ "service.name": "steward", "service.version": version });
    const resource = own.merge(detectResources({ detectors: [envDetector] }));
    const spanProcessors = [new BatchSpanProcessor(await load(exporter))];
    return new Tracing(new BasicTracerProvider({ resource, spanProcessors }));
  }

  /** Exports the spans that are left. */
  async stop(): Promise<void> {
    for (const end of this.#ends) end();
    const stopping = this.provider.shutdown().catch((error: Error) => diag.warn(error.message));
    await Promise.race([stopping, delay(shutdownTimeout, undefined, { ref: false })]);
    diag.disable();
  }

  #follow<Message extends object>({ channel: name, begin, end }: Source<Message>): () => void {
    const channel = tracingChannel<unknown, Message>(name);
    const spans = new WeakMap<object, Span>();
    channel.start.bindStore(this.#current, (message) => {
      const current = open(this.#current.getStore());
      const begun = begin(message, current);
      if (!begun) return current;
      const parent = begun.parent ?? current ?? ROOT_CONTEXT;
      const span = this.#tracer.startSpan(begun.name, begun.options, parent);
      spans.set(message, span);
      return trace.setSpan(parent, span);
    });
    const onEnd = (message: unknown) => {
      const span = spans.get(message as Message);
      if (!span) return;
      end(message as Message, span);
      span.end();
    };
    channel.asyncEnd.subscribe(onEnd);
    return () => {
      channel.start.unbindStore(this.#current);
      channel.asyncEnd.unsubscribe(onEnd);
    };
  }
}

async function load(exporter: Exporter): Promise<SpanExporter> {
  if (exporter === "console") return new ConsoleSpanExporter();
  const { OTLPTraceExporter } =
    exporter === "http/json"
      ? await import("@opentelemetry/exporter-trace-otlp-http")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

/** The context, unless its span has ended: background work that a request has started goes on after it. */
function open(context: Context | undefined): Context | undefined {
  const span = context && trace.getSpan(context);
  const isSampled = ((span?.spanContext().traceFlags ?? 0) & TraceFlags.SAMPLED) !== 0;
  return isSampled && !span!.isRecording() ? undefined : context;
}

const propagator = new W3CTraceContextPropagator();

/** Requests, whose trace continues that of the client (W3C Trace Context). Probes have no spans. */
const requests: Source<{ http: Http }> = {
  channel: "steward.request",
  begin: ({ http: { method, path, headers } }) =>
    isProbe(path)
      ? undefined
      : {
          name: method,
          options: { kind: SpanKind.SERVER, attributes: { "http.request.method": method } },
          parent: propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter),
        },
  end({ http: { method, status, state, _matchedRoute } }, span) {
    const { details } = state;
    const route = _matchedRoute?.toString();
    if (route !== undefined) span.updateName(`${method} ${route}`);
    span.setAttributes({
      "http.route": route,
      "http.response.status_code": status,
      "steward.request_id": details.id,
      "enduser.id": details.actorId,
      "steward.error_codes": details.errorCodes,
    });
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  },
};

/** Operations on all interfaces. Those on sockets begin traces of their own. */
const operations: Source<{ operation: OperationDetails; result?: unknown }> = {
  channel: "steward.operation",
  begin: ({ operation: { kind, name } }) => ({
    name: `${kind} ${name}`,
    options: { attributes: { "graphql.operation.type": kind, "graphql.operation.name": name } },
  }),
  end({ result }, span) {
    if ((result as { errors?: unknown } | undefined)?.errors) span.setStatus({ code: SpanStatusCode.ERROR });
  },
};

/** Texts in a statement: MikroORM writes values into the statements of changed entities. */
const literals = /\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'/gi;

/** Statements of requests and operations; those of background work have no spans. */
const statements: Source<{ text: string; error?: unknown }> = {
  channel: "steward.statement",
  begin({ text }, parent) {
    if (!parent) return undefined;
    const plain = text.replace(literals, "?").trim().replace(/\s+/g, " ");
    const attributes = { "db.system.name": "postgresql", "db.query.text": plain.slice(0, longestStatement) };
    return { name: plain.split(" ", 1)[0]!.toUpperCase(), options: { kind: SpanKind.CLIENT, attributes } };
  },
  end({ error }, span) {
    if (error === undefined) return;
    // The message of Postgres may quote values.
    span.setAttribute("db.response.status_code", (error as { code?: string }).code ?? "unknown");
    span.setStatus({ code: SpanStatusCode.ERROR });
  },
};
