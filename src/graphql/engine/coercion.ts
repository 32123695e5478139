import { coerceInputValue, type GraphQLInputType, isLeafType, isNonNullType, valueFromAST } from "graphql";
import type { Variable, Variables } from "./variables.js";

/** Coerces the variables of one operation into an object of their own; `undefined` when a value is not acceptable. */
export type Coerce = (given: Variables) => Variables | undefined;

/**
 * Coerces variables as GraphQL prescribes (October 2021, section 6.1.2), like `getVariableValues` of graphql-js but
 * without looking up types at every run. All that needs values before the interpreter runs reads them from here.
 */
export function coercerOf(variables: readonly Variable[]): Coerce {
  const coercers = variables.map(({ name, type, defaultValue }) => {
    const fallback = defaultValue && valueFromAST(defaultValue, type);
    // Resolvers may change objects and lists, so each run gets its own.
    const byDefault =
      defaultValue && (isObjectLike(fallback) ? () => valueFromAST(defaultValue, type) : () => fallback);
    return { name, isRequired: isNonNullType(type), coerce: coercion(type), byDefault };
  });
  return (given) => {
    const values: Variables = {};
    for (const { name, isRequired, coerce, byDefault } of coercers) {
      const value = given[name];
      if (!Object.hasOwn(given, name)) {
        if (byDefault) values[name] = byDefault();
        else if (isRequired) return undefined;
      } else if (value == null) {
        if (isRequired) return undefined;
        values[name] = null;
      } else {
        const coerced = coerce(value);
        if (coerced === undefined) return undefined;
        values[name] = coerced;
      }
    }
    return values;
  };
}

const isObjectLike = (value: unknown) => typeof value === "object" && value !== null;

/** Coerces a value to a type; returns `undefined` for one that does not fit. */
function coercion(declared: GraphQLInputType): (value: unknown) => unknown {
  const type = isNonNullType(declared) ? declared.ofType : declared;
  if (isLeafType(type))
    return (value) => {
      try {
        return type.parseValue(value);
      } catch {
        return undefined;
      }
    };
  return (value) => {
    let fits = true;
    const coerced = coerceInputValue(value, type, () => (fits = false));
    return fits ? coerced : undefined;
  };
}
