// The kinds and limits of the values of inputs, which the schema cannot state: programs that make forms read them from
// `input-values.json`.
import { type GraphQLSchema, isInputObjectType } from "graphql";
import { entryOf, keywordsOf, meaningOf, type ValueKind } from "../src/domain/kernel/values.js";
import { accessOf } from "../src/graphql/engine/access.js";

/** A value: how people enter it, and its limits as JSON Schema has them, and in words. Those of a list are of its entries. */
interface InputValue {
  kind?: ValueKind;
  limits?: Record<string, unknown>;
  words?: string;
}

/** Returns what is known of the fields of all input types, by type and field. */
export function inputValuesOf(schema: GraphQLSchema): Record<string, Record<string, InputValue>> {
  const types = Object.values(schema.getTypeMap()).filter(isInputObjectType);
  return Object.fromEntries(
    types
      .map((type) => {
        const fields = Object.values(type.getFields()).map((field) => [field.name, valueOf(field)] as const);
        return [type.name, Object.fromEntries(fields.filter(([, value]) => Object.keys(value).length > 0))] as const;
      })
      .filter(([, fields]) => Object.keys(fields).length > 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function valueOf(field: { readonly extensions: object }): InputValue {
  const { value } = accessOf(field);
  if (!value) return {};
  const { kind, limits: words } = meaningOf(entryOf(value) ?? value);
  const limits = { ...keywordsOf(entryOf(value) ?? value), ...(entryOf(value) && keywordsOf(value)) };
  return {
    ...(kind && { kind }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(words && { words }),
  };
}
