import type { IncomingMessage } from "node:http";
import getRawBody from "raw-body";
import { parse } from "secure-json-parse";
import { TransportError } from "./answers.js";

const deepest = 64;
const jsonType = /^(application\/json|[\w.+-]+\/[\w.+-]+\+json)\s*(;\s*charset="?utf-8"?\s*)?$/i;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads the body of a request: one JSON object in UTF-8 of at most `limit` bytes. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Record<string, unknown>> {
  const { "content-type": type, "content-encoding": encoding } = request.headers;
  if (encoding !== undefined || (type !== undefined && !jsonType.test(type))) {
    throw new TransportError(415, "Unsupported media type.");
  }
  const bytes = await getRawBody(request, { limit, length: request.headers["content-length"] }).catch((error: { type?: string }) => {
    if (error.type === "entity.too.large") throw new TransportError(413, "Request body too large.", `At most ${limit} bytes are read.`);
    throw invalid("The body ended early.");
  });
  return parseObject(bytes);
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = parse(utf8.decode(bytes), { protoAction: "remove", constructorAction: "remove" });
  } catch (error) {
    const position = /at position \d+/.exec((error as Error).message);
    throw invalid(position ? `It goes wrong ${position[0]}.` : "It is not JSON in UTF-8.");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid("It must be an object.");
  if (depth(value, 1) > deepest) throw invalid(`It is nested deeper than ${deepest} levels.`);
  return value as Record<string, unknown>;
}

const invalid = (detail: string) => new TransportError(400, "Request body must be valid JSON.", detail);

/** How deep a value is nested; looks no deeper than one level too many. */
function depth(value: object, level: number): number {
  if (level > deepest) return level;
  let deepestHere = level;
  for (const each of Object.values(value)) {
    if (typeof each === "object" && each !== null) deepestHere = Math.max(deepestHere, depth(each as object, level + 1));
  }
  return deepestHere;
}
