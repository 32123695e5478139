import {
  type ArgumentNode,
  type DocumentNode,
  type GraphQLInputType,
  GraphQLScalarType,
  GraphQLSchema,
  isNonNullType,
  Kind,
  type NamedTypeNode,
  TypeInfo,
  type ValueNode,
  valueFromAST,
  type VariableDefinitionNode,
  visit,
  visitWithTypeInfo,
} from "graphql";
import { type CompiledQuery, compileQuery, isCompiledQuery } from "graphql-jit";
import type { Context } from "../../domain/kernel/context.js";
import type { Coerce } from "./coercion.js";
import type { Result } from "./result.js";
import { isIncluded } from "./selection.js";
import type { Variables } from "./variables.js";

type Run = (ctx: Context, variables: Variables) => Result | Promise<Result>;

/** Compiled forms of one operation at most. An operation has one for each combination of its conditions. */
const mostForms = 4;

/**
 * Runs a query as code that graphql-jit makes of it at its first run. The compiler reads defaults, conditions and
 * variables within literals differently from graphql-js, so it gets a form of the document without them: conditions are
 * decided beforehand, and every argument is a plain constant or a whole variable, which functions of graphql-js have
 * evaluated. Runs in which a value does not fit its place are left to `interpret`.
 */
export function compile(schema: GraphQLSchema, document: DocumentNode, coerce: Coerce, interpret: Run): Run {
  const conditions = conditionsOf(document);
  const forms = new Map<number, Form | undefined>();

  function formFor(values: Variables): Form | undefined {
    let key = 1;
    for (const name of conditions) {
      if (typeof values[name] !== "boolean") return undefined;
      key = key * 2 + Number(values[name]);
    }
    if (!forms.has(key) && forms.size < mostForms) forms.set(key, formOf(schema, document, values));
    return forms.get(key);
  }

  return (ctx, given) => {
    const values = coerce(given);
    const form = values && formFor(values);
    return form && fill(form, values) ? form.query(undefined, ctx, values) : interpret(ctx, given);
  };
}

/** A query that was compiled for some values of its conditions. */
interface Form {
  query: CompiledQuery["query"];
  literals: readonly Literal[];
  /** Variables that stand where null is a fault. */
  strict: readonly string[];
}

/** A list or object among the arguments, which the compiled form takes from a variable of its own. */
interface Literal {
  name: string;
  value: ValueNode;
  type: GraphQLInputType;
}

/** Adds the values of the form's literals; false if a value does not fit its place. */
function fill({ strict, literals }: Form, values: Variables): boolean {
  for (const name of strict) if (values[name] === null) return false;
  for (const { name, value, type } of literals) {
    const read = valueFromAST(value, type, values);
    if (read === undefined) return false;
    values[name] = read;
  }
  return true;
}

/** The variables that `@skip` and `@include` depend on. */
function conditionsOf(document: DocumentNode): string[] {
  const names = new Set<string>();
  visit(document, {
    Directive: (directive) => void visit(directive, { Variable: ({ name }) => void names.add(name.value) }),
  });
  return [...names];
}

/** Compiles an operation for given values of its conditions; nothing where the compiler would differ from graphql-js. */
function formOf(schema: GraphQLSchema, document: DocumentNode, conditions: Variables): Form | undefined {
  const variables = new Set<string>();
  const strict = new Set<string>();
  const literals: Literal[] = [];
  const types = new TypeInfo(schema);
  let isOdd = false;

  function argument(node: ArgumentNode): ArgumentNode | false {
    const { value } = node;
    const type = types.getArgument()!.type;
    if (value.kind === Kind.VARIABLE) {
      variables.add(value.name.value);
      if (isNonNullType(type)) strict.add(value.name.value);
    }
    if (value.kind !== Kind.OBJECT && value.kind !== Kind.LIST) return false;
    // No variable of a caller has a "$" in its name.
    const name = `$literal${literals.length}`;
    literals.push({ name, value, type });
    return { ...node, value: variableNode(name) };
  }

  const specialized: DocumentNode = visit(
    document,
    visitWithTypeInfo(types, {
      enter(node) {
        switch (node.kind) {
          case Kind.FIELD:
            // Introspection shows the schema, which the compiler sees with a type too many; it takes `__proto__` literally.
            isOdd ||= /^__(schema|type)$/.test(node.name.value) || node.alias?.value === "__proto__";
            return isIncluded(node, conditions) ? undefined : null;
          case Kind.FRAGMENT_SPREAD:
          case Kind.INLINE_FRAGMENT:
            return isIncluded(node, conditions) ? undefined : null;
          case Kind.DIRECTIVE:
          case Kind.VARIABLE_DEFINITION:
            return null;
          case Kind.ARGUMENT:
            return argument(node);
          default:
            return undefined;
        }
      },
    }),
  );
  if (isOdd) return undefined;
  const variableDefinitions = [...variables, ...literals.map(({ name }) => name)].map(asCoerced);
  const definitions = specialized.definitions.map((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? { ...each, variableDefinitions } : each,
  );
  const options = { disablingCapturingStackErrors: true };
  const compiled = compileQuery(withCoerced(schema), { kind: Kind.DOCUMENT, definitions }, undefined, options);
  return isCompiledQuery(compiled) ? { query: compiled.query, literals, strict: [...strict] } : undefined;
}

/** What a variable has become that is coerced already: the compiler passes it on as it is. */
const coerced = new GraphQLScalarType({ name: "Coerced", parseValue: (value) => value });
const coercedType: NamedTypeNode = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: coerced.name } };

const variableNode = (name: string) => ({ kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } }) as const;

const asCoerced = (name: string): VariableDefinitionNode => ({
  kind: Kind.VARIABLE_DEFINITION,
  variable: variableNode(name),
  type: coercedType,
});

const extended = new WeakMap<GraphQLSchema, GraphQLSchema>();

function withCoerced(schema: GraphQLSchema): GraphQLSchema {
  let wider = extended.get(schema);
  if (!wider) {
    const config = schema.toConfig();
    wider = new GraphQLSchema({ ...config, types: [...config.types, coerced], assumeValid: true });
    extended.set(schema, wider);
  }
  return wider;
}
