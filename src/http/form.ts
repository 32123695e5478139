import type { IncomingMessage } from "node:http";
import { readBytes } from "./body.js";
import { TransportError } from "./responses.js";

/** The largest form in bytes. Ours have a few short fields. */
const limit = 16 * 1024;

const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** Reads the fields of a form that a browser sends. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const { "content-type": type = "", "content-encoding": encoding } = request.headers;
  if (encoding !== undefined || !formType.test(type)) throw new TransportError(415, "Unsupported media type.");
  const incomplete = new TransportError(400, "Validation failed.", "The form ended early.");
  return new URLSearchParams((await readBytes(request, limit, incomplete)).toString());
}
