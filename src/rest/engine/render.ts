import { type Field, type ListShape, type Shape, step } from "./shapes.js";

/** A value of a result as it is on the wire, ready to be written as JSON. */
export function spell(shape: Shape, value: unknown): unknown {
  switch (shape.kind) {
    case "scalar":
      return value;
    case "enum":
      return shape.values.get(value as string);
    case "nullableId":
      return { uuid: value, valid: true };
    case "list":
      return itemsOf(shape, value).map((item) => new Item(shape.item, item));
    case "map":
      return Object.fromEntries((value as Entry[]).map((entry) => [entry[shape.key], contentOf(shape, entry)]));
    default:
      return objectOf(shape.fields, value);
  }
}

/** An item of a list, which is spelled when it is written: long lists are written in pieces. */
class Item {
  constructor(
    private readonly shape: Shape,
    private readonly value: unknown,
  ) {}

  toJSON(): unknown {
    return spell(this.shape, this.value);
  }
}

const itemsOf = ({ nodes }: ListShape, value: unknown) => (nodes ? step(value, "nodes") : value) as unknown[];

type Entry = Record<string, string>;

/** The contents of an entry besides its key: several fields, or one value. */
function contentOf({ key, item }: Shape & { kind: "map" }, entry: Entry): unknown {
  if (item.kind === "object") return spell(item, entry);
  const { [key]: _, ...other } = entry;
  return spell(item, Object.values(other)[0]);
}

function objectOf(fields: readonly Field[], value: unknown): unknown {
  const object: Record<string, unknown> = {};
  for (const field of fields) {
    const content = field.from.reduce(step, value);
    object[field.name] = content == null ? missing(field) : spell(field.shape, content);
  }
  return object;
}

const empty: Partial<Record<Shape["kind"], unknown>> = {
  list: [],
  map: {},
  nullableId: { uuid: "00000000-0000-0000-0000-000000000000", valid: false },
};

/**
 * The JSON that is sent where there is no value. A list is never missing, unless it is sparse: what was not selected is
 * `[]`, a map `{}`.
 */
const missing = ({ otherwise, isSparse, isNullSent, shape }: Field): unknown =>
  otherwise ?? (isNullSent ? null : isSparse ? undefined : empty[shape.kind]);
