import {
  type ArgumentNode,
  type DocumentNode,
  type GraphQLInputType,
  GraphQLScalarType,
  GraphQLSchema,
  isNonNullType,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
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
import { memoized } from "./memoized.js";
import type { Result } from "./result.js";
import { isIncluded } from "./selection.js";
import type { Variables } from "./variables.js";

type Run = (ctx: Context, variables: Variables) => Result | Promise<Result>;

/** The most compiled forms of one operation. Each combination of its conditions has one. */
const mostForms = 4;

/**
 * Runs a query as code that graphql-jit generates at its first run. The compiler reads defaults, conditions, and
 * variables within literals differently from graphql-js, so it gets a form of the document without them: conditions are
 * decided beforehand, and every argument is a constant or a whole variable, whose value functions of graphql-js have
 * computed. A run with a value that does not fit its type is left to `interpret`.
 */
export function compile(schema: GraphQLSchema, document: DocumentNode, coerce: Coerce, interpret: Run): Run {
  if (isOdd(document)) return interpret;
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
  /** Variables of non-null arguments. */
  strict: readonly string[];
}

/** A list or object among the arguments. The compiled form reads it from an added variable. */
interface Literal {
  name: string;
  value: ValueNode;
  type: GraphQLInputType;
}

/** Adds the values of the form's literals. Returns false if a value does not fit its type. */
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

/** Whether the compiler would read some field differently from graphql-js: introspection, and `__proto__`. */
function isOdd(document: DocumentNode): boolean {
  let isFound = false;
  visit(document, {
    Field({ name, alias }) {
      // The compiler's schema has one more type, which introspection would show. An alias `__proto__` would set a prototype.
      isFound ||= /^__(schema|type)$/.test(name.value) || alias?.value === "__proto__";
    },
  });
  return isFound;
}

/** Compiles an operation for given values of its conditions; `undefined` where the compiler cannot. */
function formOf(schema: GraphQLSchema, document: DocumentNode, conditions: Variables): Form | undefined {
  const types = new TypeInfo(schema);
  const args = new Arguments();
  const select = (node: SelectionNode) => (isIncluded(node, conditions) ? undefined : null);
  const specialized: DocumentNode = visit(
    document,
    visitWithTypeInfo(types, {
      Field: select,
      FragmentSpread: select,
      InlineFragment: select,
      Directive: () => null,
      VariableDefinition: () => null,
      Argument: (node) => args.replace(node, types.getArgument()!.type),
    }),
  );
  const { variables, literals, strict } = args;
  const variableDefinitions = [...variables, ...literals.map(({ name }) => name)].map(asCoerced);
  const definitions = specialized.definitions.map((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? { ...each, variableDefinitions } : each,
  );
  const options = { disablingCapturingStackErrors: true };
  const compiled = compileQuery(withCoerced(schema), { kind: Kind.DOCUMENT, definitions }, undefined, options);
  return isCompiledQuery(compiled) ? { query: compiled.query, literals, strict: [...strict] } : undefined;
}

/** Collects the variables of arguments, and replaces lists and objects with variables of their own. */
class Arguments {
  readonly variables = new Set<string>();
  readonly strict = new Set<string>();
  readonly literals: Literal[] = [];

  replace(node: ArgumentNode, type: GraphQLInputType): ArgumentNode | false {
    const { value } = node;
    if (value.kind === Kind.VARIABLE) {
      this.variables.add(value.name.value);
      if (isNonNullType(type)) this.strict.add(value.name.value);
    }
    if (value.kind !== Kind.OBJECT && value.kind !== Kind.LIST) return false;
    // No variable of a caller has a "$" in its name.
    const name = `$literal${this.literals.length}`;
    this.literals.push({ name, value, type });
    return { ...node, value: variableNode(name) };
  }
}

/** The type of variables that are already coerced: the compiler passes their values on unchanged. */
const coerced = new GraphQLScalarType({ name: "Coerced", parseValue: (value) => value });
const coercedType: NamedTypeNode = { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: coerced.name } };

const variableNode = (name: string) => ({ kind: Kind.VARIABLE, name: { kind: Kind.NAME, value: name } }) as const;

const asCoerced = (name: string): VariableDefinitionNode => ({
  kind: Kind.VARIABLE_DEFINITION,
  variable: variableNode(name),
  type: coercedType,
});

const withCoerced = memoized((schema: GraphQLSchema) => {
  const config = schema.toConfig();
  return new GraphQLSchema({ ...config, types: [...config.types, coerced], assumeValid: true });
});
