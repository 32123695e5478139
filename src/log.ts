import { type DestinationStream, destination, type Logger, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import type { Config } from "./config.js";

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
  };
  return pino(options, logFormat === "text" ? text(descriptor) : destination(descriptor));
}

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
