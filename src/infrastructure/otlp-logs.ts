import { hostname } from "node:os";
import { databaseTime } from "../runtime/clock.js";
import { outsideFetch } from "./http.js";
import { version } from "../runtime/program-files.js";

/** A record as OpenTelemetry has it. */
export interface LogRecord {
  /** Unix milliseconds. */
  time: number;
  severity: "INFO" | "WARN";
  eventName: string;
  body: string;
  attributes: Readonly<Record<string, string | number | null | undefined>>;
}

const severityNumbers = { INFO: 9, WARN: 13 } as const;

/** Milliseconds that a collector has. */
const timeout = 30_000;

/** Sends records to a collector, as OTLP over HTTP in JSON. Throws unless it accepts them. */
export type SendLogs = (records: readonly LogRecord[], signal: AbortSignal) => Promise<void>;

/** Creates the client of a collector that the operator configured, at whatever address it is. Redirects are not followed. */
export function otlpLogs(
  url: string,
  { headers, proxy }: { headers: Record<string, string>; proxy: string | undefined },
): SendLogs {
  const fetch = outsideFetch({ proxy, named: [new URL(url).origin], timeout });
  const resource = {
    attributes: attributesOf({ "service.name": "steward", "service.version": version, "host.name": hostname() }),
  };
  return async (records, signal) => {
    const logRecords = records.map(({ time, severity, eventName, body, attributes }) => ({
      timeUnixNano: `${time}000000`,
      observedTimeUnixNano: `${Math.floor(databaseTime())}000000`,
      severityNumber: severityNumbers[severity],
      severityText: severity,
      eventName,
      body: { stringValue: body },
      attributes: attributesOf(attributes),
    }));
    const scopeLogs = [{ scope: { name: "steward.audit", version }, logRecords }];
    const { status, headers: given } = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal,
      headers: { ...headers, "Content-Type": "application/json", "User-Agent": "Steward" },
      body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] }),
    });
    if (status >= 200 && status < 300) return;
    throw new Error(`The collector responded with status ${status}${given.has("location") ? " and a redirect" : ""}.`);
  };
}

const attributesOf = (attributes: LogRecord["attributes"]) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value == null
      ? []
      : [{ key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } }],
  );
