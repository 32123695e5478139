import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config/config.js";
import { isLogged } from "./domain/kernel/availability.js";

/** Headers and fields that hold secrets never reach the log, whoever logs them. */
const secrets = ["password", "token", "authorization", "cookie", "secret"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** The log of the process, on standard output or another descriptor: JSON lines, or text for people. */
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

/** What fails because of a fault that has its own line is logged at `debug`: an outage does not flood the log. */
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

/** Postgres tells, in the detail of an error, the row that it did not like: with hashes and addresses in it. */
function withoutRows(error: Error): object {
  const { detail: _, ...told } = stdSerializers.err(error);
  return told;
}
