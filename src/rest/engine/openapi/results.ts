import type { Field, ObjectShape, Shape } from "../shapes.js";
import { constant, type Json, type NamedSchemas, objectOf, onTheWire, scalar } from "./schemas.js";

/** The schema of what is sent in a shape. Null is never sent: what has no value is left out. */
export function schemaOf(shape: Shape, schemas: NamedSchemas): Json {
  switch (shape.kind) {
    case "enum":
      return schemas.enumeration(shape.type);
    case "list":
      return { type: "array", items: schemaOf(shape.item, schemas) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(shape.item, schemas) };
    case "object":
      return objectSchema(shape, schemas);
    case "nullableId":
      return schemas.named("NullableUuid", {
        ...objectOf([
          ["uuid", { ...scalar("UUID"), description: "The ID, or the zero UUID." }, true],
          ["valid", { ...scalar("Boolean"), description: "Whether there is an ID." }, true],
        ]),
        description: "An ID that may be missing: then `valid` is false, and `uuid` the zero UUID.",
      });
    default:
      return scalar(shape.scalar);
  }
}

function objectSchema({ fields, label }: ObjectShape, schemas: NamedSchemas): Json {
  const schema = objectOf(fields.map((field) => [field.name, fieldSchema(field, schemas), field.sure]));
  if (!label) return schema;
  return schemas.named(label.name, { ...schema, description: label.description });
}

const fieldSchema = ({ shape, otherwise, description, isDeprecated }: Field, schemas: NamedSchemas): Json => ({
  ...(shape.kind === "enum" && otherwise !== undefined
    ? { anyOf: [schemaOf(shape, schemas), constant(otherwise)] }
    : schemaOf(shape, schemas)),
  ...(description !== undefined && { description: onTheWire(description) }),
  ...(isDeprecated && { deprecated: true }),
});
