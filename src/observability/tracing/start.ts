import type { Logger } from "pino";
import type { Environment } from "../../runtime/config.js";
import { exporterOf } from "./settings.js";

/** Starts to export traces if the environment asks for it; else loads nothing. Returns a function that ends it. */
export async function startTracing(env: Environment, log: Logger): Promise<() => Promise<void>> {
  const exporter = exporterOf(env, log);
  if (!exporter) return async () => {};
  const { Tracing } = await import("./tracing.js");
  const tracing = await Tracing.start(exporter, log);
  return () => tracing.stop();
}
