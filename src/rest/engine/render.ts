import { listPieces, type Pieces } from "../../http/pieces.js";
import { type Body, type Field, type ListShape, type Shape, step } from "./shapes.js";

export type Write = (value: unknown) => string;

/** Writes a value in pieces, after the text `before` it. */
type WritePieces = (value: unknown, before: string) => Pieces;

/** Writes the body of results; `isAlone` as the one element of an array. */
export function writerOf({ from, shape }: Body, isAlone = false): (data: unknown) => Pieces {
  const write = inPieces(shape);
  if (!isAlone) return (data) => write(from.reduce(step, data), "");
  return function* (data) {
    return (yield* write(from.reduce(step, data), "[")) + "]";
  };
}

/** Writes like `writer`, with the items of the lists that are not in another list in pieces. */
function inPieces(shape: Shape): WritePieces {
  if (shape.kind === "object") return objectInPieces(shape.fields);
  const write = writer(shape.kind === "list" ? shape.item : shape);
  return function* (value, before) {
    if (shape.kind !== "list") return before + write(value);
    return (yield* listPieces(itemsOf(shape, value), write, `${before}[`)) + "]";
  };
}

/** Turns values of a shape into JSON text: spelling and serializing are one walk, composed once per operation. */
export function writer(shape: Shape): Write {
  switch (shape.kind) {
    case "plain":
      return (value) => `"${value as string}"`;
    case "text":
      return (value) => textOf(value as string);
    case "json":
      return (value) => JSON.stringify(value);
    case "enum": {
      const spelled = new Map([...shape.values].map(([name, value]) => [name, JSON.stringify(value)]));
      return (value) => spelled.get(value as string)!;
    }
    case "nullableId":
      return (value) => `{"uuid":"${value as string}","valid":true}`;
    case "list":
      return listWriter(shape);
    case "map":
      return mapWriter(shape.key, shape.item);
    default:
      return objectWriter(shape.fields);
  }
}

// oxlint-disable-next-line no-control-regex -- JSON escapes control characters
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;
const textOf = (text: string) => (needsEscape.test(text) ? JSON.stringify(text) : `"${text}"`);

function listWriter(shape: ListShape): Write {
  const write = writer(shape.item);
  return (value) => {
    const items = itemsOf(shape, value);
    let text = "";
    for (let index = 0; index < items.length; index++) text += (index > 0 ? "," : "") + write(items[index]);
    return `[${text}]`;
  };
}

const itemsOf = ({ nodes }: ListShape, value: unknown) => (nodes ? step(value, "nodes") : value) as unknown[];

function mapWriter(key: string, item: Shape & { kind: unknown }): Write {
  const write = writer(item);
  const content = item.kind === "object" ? undefined : otherThan(key);
  return (value) => {
    const entries = (value as Array<Record<string, unknown>>).map(
      (entry) => `${textOf(entry[key] as string)}:${write(content ? content(entry) : entry)}`,
    );
    return `{${entries.join(",")}}`;
  };
}

/** The one value of an entry besides its key. */
const otherThan = (key: string) => (entry: Record<string, unknown>) =>
  entry[Object.keys(entry).find((name) => name !== key)!];

/** How one field of an object is written. */
interface FieldWriter {
  first: string;
  rest: readonly string[];
  name: string;
  /** What is written where there is no value; nothing: the field is left out. */
  missing: string | undefined;
  write: Write;
  /** For lists. */
  pieces: WritePieces | undefined;
}

const emptyOf: Partial<Record<Shape["kind"], string>> = {
  list: "[]",
  map: "{}",
  nullableId: '{"uuid":"00000000-0000-0000-0000-000000000000","valid":false}',
};

/** Missing values are left out, but a list is never missing: what was not selected is `[]`, a map `{}`. */
const fieldWriter = ({ from: [first, ...rest], name, shape, otherwise, isSparse }: Field): FieldWriter => ({
  first: first!,
  rest,
  name: `${JSON.stringify(name)}:`,
  missing: otherwise === undefined ? (isSparse ? undefined : emptyOf[shape.kind]) : JSON.stringify(otherwise),
  write: writer(shape),
  pieces: shape.kind === "list" ? inPieces(shape) : undefined,
});

function valueOf({ first, rest }: FieldWriter, object: unknown): unknown {
  let value = (object as Record<string, unknown>)[first];
  for (const key of rest) value = step(value, key);
  return value;
}

function objectWriter(fields: readonly Field[]): Write {
  const writers = fields.map(fieldWriter);
  return (object) => {
    let text = "";
    for (const field of writers) {
      const value = valueOf(field, object);
      const content = value == null ? field.missing : field.write(value);
      if (content !== undefined) text += (text && ",") + field.name + content;
    }
    return `{${text}}`;
  };
}

function objectInPieces(fields: readonly Field[]): WritePieces {
  const writers = fields.map(fieldWriter);
  return function* (object, before) {
    let text = `${before}{`;
    let separator = "";
    for (const field of writers) {
      const value = valueOf(field, object);
      const content = value == null ? field.missing : field.pieces ? "" : field.write(value);
      if (content === undefined) continue;
      text += separator + field.name + content;
      separator = ",";
      if (value != null && field.pieces) text = yield* field.pieces(value, text);
    }
    return `${text}}`;
  };
}
