import type { IncomingMessage } from "node:http";
import { MIMEType } from "node:util";
import { getRawBody } from "raw-body";
import type { Actor } from "../domain/kernel/actor.js";
import { quote } from "../domain/kernel/errors.js";
import { foreignJson, isTooDeep } from "../runtime/json.js";
import { TransportError } from "./errors.js";

/** Maximum size of the body of a request without a valid credential, in bytes. */
export const strangerBytes = 64 * 1024;

/** The maximum size of the body of a request, for an operation that takes at most `limit` bytes. */
export const bodyLimitOf = ({ kind }: Actor, limit: number): number =>
  kind === "anonymous" ? Math.min(limit, strangerBytes) : limit;

/** Keys that could reach the prototype of an object. */
const dropped = ["__proto__", "constructor"];

/** Whether a text can have these keys: in their letters, or in escapes. Most texts cannot, and need not be searched. */
const mayHaveDropped = /__proto__|constructor|\\u/;

const jsonTypes = /^(application\/json|[^/]+\/[^/]+\+json)$/;
const utf8Names = new Set(["utf-8", "utf8"]);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The media types of JSON, as messages name them. */
export const jsonType = "application/json or a type that ends in +json";

/**
 * Reads the body of a request: one JSON object in UTF-8 of at most `limit` bytes, without keys that could reach a
 * prototype; nothing where there is no body. Messages name all types that the operation accepts, `accepted`.
 */
export async function readBody(
  request: IncomingMessage,
  limit: number,
  accepted = jsonType,
): Promise<Record<string, unknown> | undefined> {
  const text = await readText(request, limit, accepted);
  const sent = text === "" ? undefined : parseObject(text);
  return sent && mayHaveDropped.test(text) ? dropPrototype(sent) : sent;
}

/** Reads a body like `readBody`, with all of its keys, which the caller must check. */
export async function readWhole(
  request: IncomingMessage,
  limit: number,
  accepted = jsonType,
): Promise<Record<string, unknown> | undefined> {
  const text = await readText(request, limit, accepted);
  return text === "" ? undefined : parseObject(text);
}

async function readText(request: IncomingMessage, limit: number, accepted: string): Promise<string> {
  const { "content-type": type = "application/json", "content-encoding": encoding } = request.headers;
  if (encoding !== undefined || (type !== "application/json" && !isOfType(type, jsonTypes)))
    throw unsupportedType(request, accepted);
  return decode(await readBytes(request, limit, () => invalid("The body ended early.")));
}

/** Reads a body of at most `limit` bytes. Throws a 413 for a larger one, and what `incomplete` returns for one that ends early. */
const readBytes = (request: IncomingMessage, limit: number, incomplete: () => TransportError): Promise<Buffer> =>
  getRawBody(request, { limit, length: request.headers["content-length"] }).catch((error: { type?: string }) => {
    if (error.type !== "entity.too.large") throw incomplete();
    throw new TransportError(413, "Request body too large.", `At most ${limit} bytes are read.`);
  });

/** Throws the 400 for a request without a required body. */
export function refuseEmpty(): never {
  throw invalid("A body is required.");
}

/** The 415 for a body that is not of a type in `accepted`. */
function unsupportedType({ headers }: IncomingMessage, accepted: string): TransportError {
  const { "content-type": type = "", "content-encoding": encoding } = headers;
  const sent = encoding === undefined ? `Content-Type ${quote(type)}` : `Content-Encoding ${quote(encoding)}`;
  const detail = `Sent: ${sent}. Taken: ${accepted}, in UTF-8, without a Content-Encoding.`;
  return new TransportError(415, "Unsupported media type.", detail);
}

/** Whether a Content-Type is of the media types, in UTF-8. Parameters other than a charset do not matter. */
function isOfType(type: string, types: RegExp): boolean {
  try {
    const { essence, params } = new MIMEType(type);
    return types.test(essence) && utf8Names.has((params.get("charset") ?? "utf-8").toLowerCase());
  } catch {
    return false;
  }
}

function parseObject(text: string): Record<string, unknown> {
  if (isTooDeep(text)) throw invalid(`It is nested deeper than ${foreignJson.levels} levels.`);
  const value = parse(text);
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

/** Drops unwanted keys at every level. */
function dropPrototype<Value extends Record<string, unknown>>(value: Value): Value {
  for (const key of dropped) if (Object.hasOwn(value, key)) delete value[key];
  for (const each of Object.values(value)) {
    if (typeof each === "object" && each !== null) dropPrototype(each as Record<string, unknown>);
  }
  return value;
}

/** The longest text that is searched, in characters: each step parses up to all of it. */
const searched = 32 * 1024;

/** The position of the fault in a text that is not JSON: the length of its longest prefix that could begin a JSON text. */
function faultIn(text: string): number | undefined {
  if (text.length > searched) return undefined;
  let fine = 0;
  let most = text.length;
  while (fine < most) {
    const middle = (fine + most + 1) >> 1;
    if (couldGoOn(text.slice(0, middle))) fine = middle;
    else most = middle - 1;
  }
  return fine;
}

/** Whether a text is JSON or only ends too early. The parser gives the position of a fault in some messages only. */
function couldGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    return message.startsWith("Unexpected end") || Number(/at position (\d+)/.exec(message)?.[1]) === text.length;
  }
}

/** Maximum size of the forms of our pages in bytes: they have a few short fields. */
const pageLimit = 16 * 1024;

/** The most fields of a form. */
const mostFields = 1_000;

export const formType = "application/x-www-form-urlencoded";
const formTypes = new RegExp(`^${formType}$`);

/** Whether the body of a request is a form. */
export const isForm = ({ headers }: IncomingMessage): boolean => isOfType(headers["content-type"] ?? "", formTypes);

/** Reads the fields of a form of at most `limit` bytes. */
export async function readForm(request: IncomingMessage, limit = pageLimit): Promise<URLSearchParams> {
  if (request.headers["content-encoding"] !== undefined || !isForm(request)) throw unsupportedType(request, formType);
  const text = (await readBytes(request, limit, incomplete)).toString();
  if (text.split("&", mostFields + 1).length > mostFields)
    throw new TransportError(400, "Validation failed.", `A form has at most ${mostFields} fields.`);
  return new URLSearchParams(text);
}

/** Reads a body whose content does not matter, such as a form of any encoding. */
export async function skipBody(request: IncomingMessage): Promise<URLSearchParams> {
  await readBytes(request, pageLimit, incomplete);
  return new URLSearchParams();
}

const incomplete = () => new TransportError(400, "Validation failed.", "The form ended early.");
