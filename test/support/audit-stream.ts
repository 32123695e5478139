// Readers of the stream of audit events, which collect what they receive.
// Looks inside: transactions that are open for long, and the numbers of a restored database.
import { beginAnotherLife } from "../../src/domain/audit/numbering.js";
import { verifyDays, type VerifyOptions } from "../../src/domain/audit/seals.js";
import type { App } from "./app.js";
import { newId } from "./ids.js";
import { credentialHeader } from "./world.js";

/** An event as the stream sends it. */
export interface Streamed {
  number: number;
  /** Over SSE. */
  id?: string;
  event: {
    id: string;
    action: string;
    resource_type: string;
    resource_id?: string;
    resource_label?: string;
    time: string;
    organization_id?: string;
    diff: Record<string, { old?: unknown; new?: unknown }>;
  };
}

export interface StreamReader {
  /** In order of arrival. */
  readonly items: Streamed[];
  /** Resolves when the response has ended. */
  readonly ended: Promise<void>;
  close(): void;
}

interface Options {
  /** With `?`. */
  query?: string;
  headers?: Record<string, string>;
  accept?: "text/event-stream" | "application/x-ndjson";
}

/** Opens the stream of a server. Throws with the status if it is rejected. */
export async function readAuditStream(
  url: string,
  token: string,
  { query = "", headers = {}, accept = "application/x-ndjson" }: Options = {},
): Promise<StreamReader> {
  const aborted = new AbortController();
  const response = await fetch(`${url}/api/v2/audit/stream${query}`, {
    headers: { ...credentialHeader(token), Accept: accept, ...headers },
    signal: aborted.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const items: Streamed[] = [];
  const isSse = accept === "text/event-stream";
  const take = (part: string) => {
    if (!isSse) {
      items.push(JSON.parse(part) as Streamed);
      return;
    }
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(part)?.[1];
    const data = field("data");
    if (data !== undefined) items.push({ ...(JSON.parse(data) as Streamed), id: field("id") });
  };
  const read = async () => {
    let rest = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + chunk).split(isSse ? "\n\n" : "\n");
      rest = parts.pop()!;
      for (const part of parts) if (part.trim() !== "") take(part);
    }
  };
  return { items, ended: read().catch(() => {}), close: () => aborted.abort() };
}

/** Reads all events after a number, or a cursor. */
export async function readAllNumbered(url: string, token: string, since = "0", query = ""): Promise<Streamed[]> {
  const reader = await readAuditStream(url, token, { query: `?since=${since}&follow=false${query}` });
  await reader.ended;
  return reader.items;
}

/** Begins a transaction that records an event. Returns the ID of the event, and what ends the transaction. */
export async function beginEvent({ services }: App) {
  const id = newId();
  const connection = await services.database.pool.connect();
  await connection.query("begin");
  await connection.query(
    `insert into audit_log (id, time, actor_kind, action, resource_type, diff, request_id)
     values ($1, now(), 'system', 'update', 'late', '{}', 'test')`,
    [id],
  );
  const end = async (how: "commit" | "rollback") => {
    await connection.query(how);
    connection.release();
  };
  return { id, end };
}

/** Lets numbers continue as they do in a restored database. */
export const asRestored = ({ services }: App): Promise<unknown> => services.database.pool.query(beginAnotherLife);

/** Compares the seals of days with the events that a server has. */
export const verifySeals = ({ services }: App, options: VerifyOptions) => verifyDays(services.database.db, options);
