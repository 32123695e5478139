import { Arg as ClassArg } from "type-graphql";

type TypeOf = Parameters<typeof ClassArg>[1];
type Options = Parameters<typeof ClassArg>[2];

/** Whether the types of arguments are being read, for the schema. */
let isBuilding = false;

/**
 * An argument of a root field or a field. Its value is the plain object that GraphQL coerced: type-graphql would make an
 * instance of its class, for which it searches all input types for the type of each field, at every call.
 */
export const Arg = (name: string, typeOf: TypeOf, options?: Options) =>
  ClassArg(name, (type) => (isBuilding ? typeOf(type) : Object), options);

/** Builds a schema with the declared types of its arguments. */
export function withArgumentTypes<Schema>(build: () => Schema): Schema {
  isBuilding = true;
  try {
    return build();
  } finally {
    isBuilding = false;
  }
}
