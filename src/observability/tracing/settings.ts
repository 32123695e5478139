import type { Logger } from "pino";
import type { Environment } from "../../runtime/config.js";

/** Where spans are sent, and in which format. */
export type Exporter = "console" | "http/json" | "http/protobuf";

/** Which exporter the standard variables of OpenTelemetry ask for; none by default. Warns of what is not supported. */
export function exporterOf(env: Environment, log: Pick<Logger, "warn">): Exporter | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  const hasEndpoint = Boolean(env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const wanted = env.OTEL_TRACES_EXPORTER || (hasEndpoint ? "otlp" : "none");
  if (wanted === "none") return undefined;
  if (wanted === "console") return wanted;
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || env.OTEL_EXPORTER_OTLP_PROTOCOL || "http/protobuf";
  if (wanted === "otlp" && (protocol === "http/json" || protocol === "http/protobuf")) return protocol;
  const detail = wanted === "otlp" ? { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } : { OTEL_TRACES_EXPORTER: wanted };
  log.warn(detail, "This exporter of traces is not supported: no traces are exported.");
  return undefined;
}
