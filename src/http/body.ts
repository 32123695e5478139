import type { IncomingMessage } from "node:http";
import { MIMEType } from "node:util";
import { getRawBody } from "raw-body";
import { quote } from "../domain/kernel/errors.js";
import { TransportError } from "./responses.js";
import { faultIn } from "./json-fault.js";

const deepest = 64;

/** Keys that could reach the prototype of an object. */
const dropped = ["__proto__", "constructor"];

const jsonTypes = /^(application\/json|[^/]+\/[^/]+\+json)$/;
const utf8Names = new Set(["utf-8", "utf8"]);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The media types of JSON, as messages name them. */
export const jsonType = "application/json or a type that ends in +json";

/**
 * Reads the body of a request: one JSON object in UTF-8 of at most `limit` bytes; nothing where there is no body. Messages
 * name all types that the operation accepts, `accepted`.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  accepted = jsonType,
): Promise<Record<string, unknown> | undefined> {
  const sent = await readWhole(request, limit, accepted);
  return sent && cleaned(sent, 1);
}

/** Reads a body like `readBody`, with all of its keys and levels, which the caller must check. */
export async function readWhole(
  request: IncomingMessage,
  limit: number,
  accepted = jsonType,
): Promise<Record<string, unknown> | undefined> {
  const { "content-type": type = "application/json", "content-encoding": encoding } = request.headers;
  if (encoding !== undefined || (type !== "application/json" && !isOfType(type, jsonTypes)))
    throw unsupportedType(request, accepted);
  const bytes = await readBytes(request, limit, () => invalid("The body ended early."));
  return bytes.length > 0 ? parseObject(bytes) : undefined;
}

/** Reads a body of at most `limit` bytes. Throws a 413 for a larger one, and what `incomplete` returns for one that ends early. */
export const readBytes = (request: IncomingMessage, limit: number, incomplete: () => TransportError): Promise<Buffer> =>
  getRawBody(request, { limit, length: request.headers["content-length"] }).catch((error: { type?: string }) => {
    if (error.type !== "entity.too.large") throw incomplete();
    throw new TransportError(413, "Request body too large.", `At most ${limit} bytes are read.`);
  });

/** Throws the 400 for a request without a required body. */
export function refuseEmpty(): never {
  throw invalid("A body is required.");
}

/** The 415 for a body that is not of a type in `accepted`. */
export function unsupportedType({ headers }: IncomingMessage, accepted: string): TransportError {
  const { "content-type": type = "", "content-encoding": encoding } = headers;
  const sent = encoding === undefined ? `Content-Type ${quote(type)}` : `Content-Encoding ${quote(encoding)}`;
  const detail = `Sent: ${sent}. Taken: ${accepted}, in UTF-8, without a Content-Encoding.`;
  return new TransportError(415, "Unsupported media type.", detail);
}

/** Whether a Content-Type is of the media types, in UTF-8. Parameters other than a charset do not matter. */
export function isOfType(type: string, types: RegExp): boolean {
  try {
    const { essence, params } = new MIMEType(type);
    return types.test(essence) && utf8Names.has((params.get("charset") ?? "utf-8").toLowerCase());
  } catch {
    return false;
  }
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  const value = parse(decode(bytes));
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid("It must be an object.");
  return value as Record<string, unknown>;
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalid("It is not UTF-8.");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const position = faultIn(text);
    throw invalid(position === undefined ? "It is not JSON." : `It goes wrong at position ${position}.`);
  }
}

const invalid = (detail: string) => new TransportError(400, "Request body must be valid JSON.", detail);

/** Drops unwanted keys at every level. Throws a 400 for a value with too many levels. */
function cleaned<Value extends Record<string, unknown>>(value: Value, level: number): Value {
  if (level > deepest) throw invalid(`It is nested deeper than ${deepest} levels.`);
  for (const key of dropped) if (Object.hasOwn(value, key)) delete value[key];
  for (const each of Object.values(value)) {
    if (typeof each === "object" && each !== null) cleaned(each as Record<string, unknown>, level + 1);
  }
  return value;
}
