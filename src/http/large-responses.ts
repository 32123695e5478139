import { boundedPool, turn } from "../runtime/concurrency.js";

/** The approximate number of characters of a piece, which takes a millisecond or two to write. */
export const pieceLength = 64 * 1024;

/** A text in pieces that are yielded, the last one returned. */
export type Pieces = Generator<string, string>;

/** Joins the pieces of a text, each in its own turn of the event loop. A text of one piece, the usual case, is returned directly. */
export function joinPieces(pieces: Pieces): string | Promise<Buffer> {
  const { value, done } = pieces.next();
  return done ? value : joinedInTurns(value, pieces);
}

/** Writes a value as JSON: a long list in pieces, as `joined` does. */
export const jsonOf = (value: unknown): string | Promise<Buffer> => joinPieces(jsonPieces(value));

/** Milliseconds of writing in one turn of the event loop. */
const stint = 10;

/** One response at a time: responses that take turns would all be finished late, and hold their results until then. */
const writing = boundedPool(1);

const joinedInTurns = (first: string, pieces: Pieces): Promise<Buffer> =>
  writing(async () => {
    const parts = [Buffer.from(first)];
    for (let isDone: boolean | undefined; !isDone;) {
      await turn();
      const end = performance.now() + stint;
      do {
        const { value, done } = pieces.next();
        parts.push(Buffer.from(value));
        isDone = done;
      } while (!isDone && performance.now() < end);
    }
    return Buffer.concat(parts);
  });

/** Writes JSON in pieces. Only lists that are not within another list are split. */
export function* jsonPieces(value: unknown, before = ""): Pieces {
  if (Array.isArray(value)) return (yield* listPieces(value, JSON.stringify, `${before}[`)) + "]";
  if (typeof value !== "object" || value === null) return before + JSON.stringify(value);
  let text = `${before}{`;
  let separator = "";
  for (const [key, content] of Object.entries(value)) {
    if (content === undefined) continue;
    text = yield* jsonPieces(content, `${text}${separator}${JSON.stringify(key)}:`);
    separator = ",";
  }
  return `${text}}`;
}

/** Items between commas, after `before`. */
function* listPieces(items: readonly unknown[], write: (item: unknown) => string, before: string): Pieces {
  let text = before;
  for (let index = 0; index < items.length; index++) {
    text += (index > 0 ? "," : "") + write(items[index]);
    if (text.length < pieceLength) continue;
    yield text;
    text = "";
  }
  return text;
}
