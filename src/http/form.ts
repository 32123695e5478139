import type { IncomingMessage } from "node:http";
import { getRawBody } from "raw-body";
import { TransportError } from "./answers.js";

/** Bytes of a form; ours have a few short fields. */
const limit = 16 * 1024;

const formType = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** Reads the fields of a form that a browser sends. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const { "content-type": type = "", "content-encoding": encoding } = request.headers;
  if (encoding !== undefined || !formType.test(type)) throw new TransportError(415, "Unsupported media type.");
  const text = await getRawBody(request, { limit, encoding: "utf8", length: request.headers["content-length"] }).catch(
    (error: { type?: string }) => {
      if (error.type === "entity.too.large")
        throw new TransportError(413, "Request body too large.", `At most ${limit} bytes are read.`);
      throw new TransportError(400, "Validation failed.", "The form ended early.");
    },
  );
  return new URLSearchParams(text);
}
