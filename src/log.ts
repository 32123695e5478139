import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config/config.js";
import { isLogged } from "./domain/kernel/availability.js";

/** Names of fields that are redacted in all log lines, up to two levels deep. */
const secrets = ["password", "token", "authorization", "cookie", "secret"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** Creates the logger, which writes JSON lines or text to a file descriptor. Default: standard output. */
export function createLog({ logLevel, logFormat }: Pick<Config, "logLevel" | "logFormat">, descriptor = 1): Logger {
  const options = {
    level: logLevel,
    redact: { paths: secrets, censor: "***" },
    serializers: { err: withoutRows },
    hooks,
  };
  return pino(options, logFormat === "text" ? text(descriptor) : destination(descriptor));
}

const debug = 20;

/** Lowers errors caused by a failure that is already logged to `debug`, so that an outage does not flood the log. */
export const hooks: LoggerOptions["hooks"] = {
  logMethod(args, method, level) {
    const [fields] = args as unknown[];
    const isConsequence = level > debug && isLogged((fields as { err?: unknown } | undefined)?.err);
    if (isConsequence) this.debug(...args);
    else method.apply(this, args);
  },
};

const text = (descriptor: number): DestinationStream =>
  pretty({
    destination: descriptor,
    sync: true,
    singleLine: true,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss.l",
  });

/** Serializes an error without the `detail` of Postgres, which contains the rejected row, including hashes. */
function withoutRows(error: Error): object {
  const { detail: _, ...told } = stdSerializers.err(error);
  return told;
}
