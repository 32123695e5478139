import type { IncomingMessage } from "node:http";
import { isOfType, readBytes, unsupportedType } from "./body.js";
import { TransportError } from "./responses.js";

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
