import {
  type DocumentNode,
  getOperationAST,
  getVariableValues,
  GraphQLScalarType,
  GraphQLSchema,
  isNonNullType,
  Kind,
  print,
  type SelectionSetNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { type CompiledQuery, compileQuery } from "graphql-jit";
import type { Context } from "../../domain/kernel/context.js";
import { fragmentsOf } from "./access.js";
import { memoize } from "./memoized.js";
import type { Result } from "./result.js";
import type { Variable, Variables } from "./variables.js";

/** Runs a query as code that graphql-jit makes of it at the first run. */
export function compileOnce(schema: GraphQLSchema, document: DocumentNode) {
  const { variableDefinitions = [] } = getOperationAST(document)!;
  let query: CompiledQuery["query"] | undefined;
  return (ctx: Context, variables: Variables): Result | Promise<Result> => {
    query ??= compile(schema, document);
    const { coerced, errors } = getVariableValues(schema, variableDefinitions, variables);
    return errors ? { errors } : query(undefined, ctx, coerced);
  };
}

/** Compiles a query whose variables graphql-js coerces. Conditions of directives must be Boolean for the compiler. */
function compile(schema: GraphQLSchema, document: DocumentNode): CompiledQuery["query"] {
  const coerced: DocumentNode = visit(document, {
    VariableDefinition: (each) =>
      /^Boolean!?$/.test(print(each.type)) ? undefined : { ...each, type: coercedType, defaultValue: undefined },
  });
  const options = { disablingCapturingStackErrors: true };
  return (compileQuery(withCoerced(schema), coerced, "", options) as CompiledQuery).query;
}

/** The type of values that are coerced: the compiler passes them on as they are. */
const Coerced = new GraphQLScalarType({ name: "Coerced" });
const coercedType = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: Coerced.name } } as const;

const withCoerced = memoize((schema: GraphQLSchema) => {
  const config = schema.toConfig();
  return new GraphQLSchema({ ...config, types: [...config.types, Coerced], assumeValid: true });
});

/** The most fields of a compiled query, fragments written out: the compiler takes 40 µs for each. */
const mostFields = 250;

/** Counts the fields of a selection, fragments written out, up to the maximum. */
function fieldsIn({ selections }: SelectionSetNode, fragments: ReturnType<typeof fragmentsOf>, found = 0): number {
  let count = found;
  for (const selection of selections) {
    if (count > mostFields) break;
    if (selection.kind === Kind.FIELD) count++;
    const { selectionSet } = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value)! : selection;
    if (selectionSet) count = fieldsIn(selectionSet, fragments, count);
  }
  return count;
}

/**
 * Whether a query is small enough to be compiled, and is read by graphql-jit as by graphql-js, which
 * `test/support/variables.ts` compares. Excluded are directives, variables in lists and objects, introspection, the alias
 * `__proto__`, and nullable variables of non-null arguments.
 */
export function isCompilable(schema: GraphQLSchema, document: DocumentNode, variables: readonly Variable[]): boolean {
  const nullable = new Set(variables.filter(({ type }) => !isNonNullType(type)).map(({ name }) => name));
  const types = new TypeInfo(schema);
  const fields = fieldsIn(getOperationAST(document)!.selectionSet, fragmentsOf(document));
  let isFit = fields <= mostFields;
  const exclude = () => void (isFit = false);
  visit(
    document,
    visitWithTypeInfo(types, {
      Directive: exclude,
      ListValue: (list) => void visit(list, { Variable: exclude }),
      ObjectValue: (object) => void visit(object, { Variable: exclude }),
      Argument({ value }) {
        const mayBeNull = value.kind === Kind.VARIABLE && nullable.has(value.name.value);
        if (mayBeNull && isNonNullType(types.getArgument()!.type)) exclude();
      },
      Field({ name, alias }) {
        if (name.value === "__schema" || name.value === "__type" || alias?.value === "__proto__") exclude();
      },
    }),
  );
  return isFit;
}
