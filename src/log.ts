import { type Logger, pino } from "pino";
import type { Config } from "./config.js";

/** Headers and fields that hold secrets never reach the log, whoever logs them. */
const secrets = ["password", "token", "authorization", "cookie", "secret"].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** The log of the process, on standard output: JSON lines, or text for people. */
export function createLog({ logLevel, logFormat }: Pick<Config, "logLevel" | "logFormat">): Logger {
  const pretty = { target: "pino-pretty", options: { ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" } };
  return pino({
    level: logLevel,
    redact: { paths: secrets, censor: "***" },
    ...(logFormat === "text" && { transport: pretty }),
  });
}
