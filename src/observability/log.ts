import { isatty } from "node:tty";
import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, stdSerializers } from "pino";
import pretty from "pino-pretty";
import type { Config } from "../runtime/config.js";
import { escapedJson } from "../runtime/terminal.js";
import { isLogged } from "../infrastructure/database/availability.js";

/** Names of fields that are redacted in all log lines, up to two levels deep. */
const secrets = ["password", "token", "authorization", "cookie", "secret"].flatMap((name) => [
  name,
  `*.${name}`,
  `*.*.${name}`,
]);

/** Creates a logger, which writes text or JSON lines to a file descriptor: by default, text if it is a terminal. */
function createLog(
  { logLevel, logFormat }: Pick<Config, "logLevel" | "logFormat">,
  descriptor: number,
  lines: (descriptor: number) => DestinationStream,
): Logger {
  const options = {
    level: logLevel,
    redact: { paths: secrets, censor: "***" },
    serializers: { err: withoutRows },
    hooks,
  };
  const format = logFormat ?? (isatty(descriptor) ? "text" : "json");
  return pino(options, format === "text" ? text(descriptor) : lines(descriptor));
}

/** The log of a command, on standard error. */
export const createCommandLog = (config: Pick<Config, "logLevel" | "logFormat">): Logger =>
  createLog(config, 2, immediate);

/** The log of the server, on standard output. */
export const createServerLog = (config: Pick<Config, "logLevel" | "logFormat">): Logger =>
  createLog(config, 1, collectLines);

const debug = 20;
const info = 30;

/**
 * Lowers errors caused by a failure that is already logged to `debug`, so that an outage does not flood the log. Writes
 * warnings and errors immediately.
 */
export const hooks: LoggerOptions["hooks"] = {
  logMethod(args, method, level) {
    const [fields] = args as unknown[];
    const isConsequence = level > debug && isLogged((fields as { err?: unknown } | undefined)?.err);
    if (isConsequence) return this.debug(...args);
    method.apply(this, args);
    if (level > info) this.flush();
  },
};

/** Milliseconds, and characters, for which lines are collected. */
const collecting = { milliseconds: 50, characters: 8 * 1024 };

/**
 * Collects lines and writes them together: a write costs more than a line. Writes what is left when the process exits. A
 * process that is killed loses the lines of the last moment. Writes are synchronous, because one that is under way when
 * the process exits could be lost, and with it the reason of the exit.
 */
function collectLines(descriptor: number): DestinationStream & { flush(): void; flushSync(): void } {
  const output = destination({ fd: descriptor, sync: true });
  let lines = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (lines !== "") output.write(lines);
    lines = "";
  };
  const flushSync = () => {
    flush();
    output.flushSync();
  };
  process.on("exit", flushSync);
  return {
    write(line) {
      lines += escapedJson(line);
      if (lines.length >= collecting.characters) flush();
      else timer ??= setTimeout(flush, collecting.milliseconds).unref();
    },
    flush,
    flushSync,
  };
}

/** Writes each line immediately. */
function immediate(descriptor: number): DestinationStream & { flushSync(): void } {
  const output = destination(descriptor);
  return { write: (line) => void output.write(escapedJson(line)), flushSync: () => output.flushSync() };
}

/** Formats lines as text. A terminal obeys nothing that a field contains: it shows escapes, such as `\u001b`. */
function text(descriptor: number): DestinationStream {
  const output = pretty({
    destination: descriptor,
    sync: true,
    singleLine: true,
    ignore: "pid,hostname",
    translateTime: "SYS:HH:MM:ss.l",
    messageFormat: shortenLine,
  });
  return { write: (line) => void output.write(escapedTwice(line)) };
}

/** An escape of JSON: of a backslash, or of a character that a terminal obeys. */
const escape = /\\(?:\\|[bfr]|u(?:00[01][\da-f]|007f|00[89][\da-f]|202[89a-e]|206[6-9]))/g;

/** Escapes what a terminal obeys so that the text in the JSON has the escape. */
const escapedTwice = (line: string): string =>
  escapedJson(line).replace(escape, (found) => (found === "\\\\" ? found : `\\${found}`));

/** Writes the main fields of a request into its message, and removes them from the list of fields behind it. */
function shortenLine(line: Record<string, unknown>, messageKey: string): string {
  const message = String(line[messageKey]);
  if (message !== "request") return message;
  const { method, route, status, ms } = line as Record<string, string | number>;
  for (const shown of ["method", "route", "status", "ms"]) delete line[shown];
  return `${method} ${route} ${status} in ${ms} ms`;
}

/** Serializes an error without the `detail` of Postgres, which contains the rejected row, including hashes. */
function withoutRows(error: Error): object {
  const { detail: _, ...told } = stdSerializers.err(error);
  return told;
}
