import type { IncomingMessage } from "node:http";
import { readBytes } from "./body.js";
import { TransportError } from "./responses.js";

/** Maximum size of the forms of our pages in bytes: they have a few short fields. */
const pageLimit = 16 * 1024;

const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** Whether the body of a request is a form. */
export const isForm = ({ headers }: IncomingMessage): boolean => formType.test(headers["content-type"] ?? "");

/** Reads the fields of a form of at most `limit` bytes. */
export async function readForm(request: IncomingMessage, limit = pageLimit): Promise<URLSearchParams> {
  if (request.headers["content-encoding"] !== undefined || !isForm(request))
    throw new TransportError(415, "Unsupported media type.");
  return new URLSearchParams((await readBytes(request, limit, incomplete)).toString());
}

/** Reads a body whose content does not matter, such as a form of any encoding. */
export async function skipBody(request: IncomingMessage): Promise<URLSearchParams> {
  await readBytes(request, pageLimit, incomplete);
  return new URLSearchParams();
}

const incomplete = () => new TransportError(400, "Validation failed.", "The form ended early.");
