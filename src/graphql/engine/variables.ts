import {
  type ConstValueNode,
  type DocumentNode,
  getNamedType,
  type GraphQLArgument,
  type GraphQLEnumType,
  GraphQLError,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLNonNull,
  type GraphQLNullableType,
  type GraphQLScalarType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from "graphql";
import type * as z from "zod/mini";
import type { Problems } from "../../domain/kernel/errors.js";
import { isObject } from "../../runtime/json.js";
import { textProblem } from "../../runtime/text.js";
import { meaningOf } from "../../domain/kernel/values.js";
import { accessOf, entryKeyOf } from "./access.js";

export type Variables = Record<string, unknown>;

/** A variable of an operation, and what it fills. */
export interface Variable {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly defaultValue: ConstValueNode | undefined;
  /** The argument path that it fills, such as `input` or `input.name`; its name if it fills none. */
  readonly path: string;
  /** The value that the argument or input field takes. */
  readonly value: z.core.$ZodType | undefined;
  /** The description of the variable itself, or else of what it fills. */
  readonly description: string | undefined;
}

/** The variables of an operation. `document` is the operation with its fragments. */
export function variablesOf(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  document: DocumentNode,
): Variable[] {
  const filled = filledIn(schema, document);
  return variableDefinitions.map(({ variable, type, defaultValue, description: own }) => {
    const name = variable.name.value;
    const declared = typeFromAST(schema, type) as GraphQLInputType;
    const place = filled.get(name) ?? nowhere(name);
    return { name, type: declared, defaultValue, ...place, description: own?.value ?? place.description };
  });
}

type Target = GraphQLArgument | GraphQLInputField;

/** The argument or input field that a variable fills. */
type Place = Pick<Variable, "path" | "value" | "description">;

/** The place of a variable that only a directive uses. */
const nowhere = (name: string): Place => ({ path: name, value: undefined, description: undefined });

/** Finds what the variables of a document fill: arguments, input fields, and items of lists. */
function filledIn(schema: GraphQLSchema, document: DocumentNode): Map<string, Place> {
  const filled = new Map<string, Place>();
  const types = new TypeInfo(schema);

  function note(value: ValueNode, path: string, type: GraphQLInputType | undefined, target?: Target): void {
    if (value.kind === Kind.VARIABLE) {
      const name = value.name.value;
      const taken = (target && accessOf(target).value) ?? filled.get(name)?.value;
      const description = target?.description ?? undefined;
      filled.set(name, { path, value: taken, description });
    } else if (value.kind === Kind.LIST) {
      for (const [index, each] of value.values.entries()) note(each, `${path}[${index}]`, type);
    } else if (value.kind === Kind.OBJECT) {
      const object = getNamedType(type);
      for (const { name, value: content } of value.fields) {
        const field = isInputObjectType(object) ? object.getFields()[name.value] : undefined;
        note(content, `${path}.${name.value}`, field?.type, field);
      }
    }
  }

  visit(
    document,
    visitWithTypeInfo(types, {
      Argument({ name, value }) {
        const argument = types.getArgument()!;
        note(value, name.value, argument.type, argument);
      },
      Directive: () => false,
    }),
  );
  return filled;
}

/** How a surface spells inputs. */
export interface Spelling {
  /** The name of an input field as the caller writes it. */
  field(name: string): string;
  /** The value of an enum member as the caller writes it. */
  enumValue(member: { name: string; value: unknown }): string;
  /** Whether null is the same as absent. */
  nullIsAbsent: boolean;
  /** Whether fields that the type does not have are faults. */
  isStrict: boolean;
  /** Whether lists of entries with a declared key are written as maps. */
  maps: boolean;
  /** Whether a value in the place of a list stands for a list of it alone. */
  takesLoneItems: boolean;
}

/** GraphQL's own spelling: nothing is renamed. */
export const asDeclared: Spelling = {
  field: (name) => name,
  enumValue: ({ name }) => name,
  nullIsAbsent: false,
  isStrict: true,
  maps: false,
  takesLoneItems: true,
};

/**
 * Reads a value as the caller wrote it as the value that GraphQL expects, and adds every fault of form to `problems`.
 */
export type Reader = (value: unknown, path: string, problems: Problems) => unknown;

/** The reader of a variable. One with a default may be absent. Rules beyond form belong to the domain. */
export function readerOf({ type, defaultValue, value: taken }: Variable, spelling: Spelling): Reader {
  const read = valueReader(type, spelling, ruleOf(taken));
  if (!defaultValue) return read;
  return (value, path, problems) => (isAbsent(value, spelling) ? undefined : read(value, path, problems));
}

/** The rule of a number, which stands in place of the range of its type. */
const ruleOf = (value: z.core.$ZodType | undefined) => value && meaningOf(value).rule;

const isAbsent = (value: unknown, { nullIsAbsent }: Spelling) =>
  value === undefined || (value === null && nullIsAbsent);

function valueReader(type: GraphQLInputType, spelling: Spelling, rule?: string): Reader {
  if (isNonNullType(type)) {
    const read = valueReader(type.ofType, spelling, rule);
    return (value, path, problems) =>
      value == null ? problems.add(path, "Is required.") : read(value, path, problems);
  }
  const read = contentReader(type, spelling, rule);
  return (value, path, problems) => {
    if (isAbsent(value, spelling)) return undefined;
    return value === null ? null : read(value, path, problems);
  };
}

/** The reader of values of a nullable type other than null. */
function contentReader(
  type: Exclude<GraphQLInputType, GraphQLNonNull<GraphQLNullableType>>,
  spelling: Spelling,
  rule?: string,
): Reader {
  if (isListType(type)) return listReader(type.ofType, spelling);
  if (isInputObjectType(type)) return objectReader(type, spelling);
  return isEnumType(type) ? enumReader(type, spelling) : scalarReader(type, rule);
}

function listReader(of: GraphQLInputType, spelling: Spelling): Reader {
  const key = spelling.maps ? entryKeyOf(of) : undefined;
  if (key) return mapReader(of, key, spelling);
  const read = valueReader(of, spelling);
  return (value, path, problems) => {
    if (Array.isArray(value)) return value.map((each, index) => read(each, `${path}[${index}]`, problems));
    return spelling.takesLoneItems ? [read(value, path, problems)] : problems.add(path, "Must be a list.");
  };
}

/** `{"<key>": {…}}` → `[{key, …}]`; `{"<key>": value}` → `[{key, <the other field>: value}]`. */
function mapReader(of: GraphQLInputType, key: string, spelling: Spelling): Reader {
  const others = fieldsOf(of).filter((field) => field.name !== key);
  const single = others.length === 1 ? others[0] : undefined;
  const read = single ? valueReader(single.type, spelling) : fieldsReader(others, spelling);
  return (value, path, problems) => {
    if (!isObject(value)) return problems.add(path, "Must be an object.");
    return Object.entries(value).map(([name, entry]) => {
      const content = read(entry, `${path}.${name}`, problems);
      return { [key]: name, ...(single ? { [single.name]: content } : (content as object | undefined)) };
    });
  };
}

/** The fields of an input object type, whether it is required or not. */
export const fieldsOf = (type: GraphQLInputType): GraphQLInputField[] =>
  Object.values((getNamedType(type) as GraphQLInputObjectType).getFields());

/** Prepares the fields at the first value: an input type may contain itself. */
function objectReader(type: GraphQLInputObjectType, spelling: Spelling): Reader {
  let read: Reader | undefined;
  return (value, path, problems) => (read ??= fieldsReader(fieldsOf(type), spelling))(value, path, problems);
}

function fieldsReader(declared: readonly GraphQLInputField[], spelling: Spelling): Reader {
  const fields = declared.map((field) => ({
    name: field.name,
    wire: spelling.field(field.name),
    isOptional: !isRequiredInputField(field),
    read: valueReader(field.type, spelling, ruleOf(accessOf(field).value)),
  }));
  const known = new Set(fields.map((field) => field.wire));
  return (value, path, problems) => {
    if (!isObject(value)) return problems.add(path, "Must be an object.");
    const result: Variables = {};
    for (const { name, wire, isOptional, read } of fields) {
      if (value[wire] === undefined && isOptional) continue;
      const content = read(value[wire], join(path, wire), problems);
      if (content !== undefined) result[name] = content;
    }
    if (spelling.isStrict)
      for (const extra of Object.keys(value))
        if (!known.has(extra)) problems.add(join(path, extra), "Is not a field of this input.");
    return result;
  };
}

function enumReader(type: GraphQLEnumType, spelling: Spelling): Reader {
  const names = new Map(type.getValues().map((each) => [spelling.enumValue(each), each.name]));
  const rule = `Must be one of: ${[...names.keys()].map((name) => JSON.stringify(name)).join(", ")}.`;
  return (value, path, problems) => names.get(value as string) ?? problems.add(path, rule);
}

const join = (path: string, name: string) => (path ? `${path}.${name}` : name);

const builtIn: Record<string, [string, (value: unknown) => boolean]> = {
  String: ["Must be a string.", (value) => typeof value === "string"],
  ID: ["Must be a string.", (value) => typeof value === "string"],
  Boolean: ["Must be true or false.", (value) => typeof value === "boolean"],
  Float: ["Must be a number.", (value) => Number.isFinite(value)],
  Int: [
    "Must be a whole number between -2147483648 and 2147483647.",
    (value) => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31 && value !== 2 ** 31,
  ],
};

function scalarReader(type: GraphQLScalarType, declared: string | undefined): Reader {
  const [usual, accepts] = builtIn[type.name] ?? [];
  const rule = declared ?? usual;
  return (value, path, problems) => {
    // Finding a fault costs far more than reading a value.
    if (problems.isFull) return undefined;
    const unstorable = typeof value === "string" ? textProblem(value) : undefined;
    if (unstorable) return problems.add(path, unstorable);
    if (accepts) return accepts(value) ? value : problems.add(path, rule);
    try {
      return type.parseValue(value);
    } catch (error) {
      return problems.add(path, declared ?? (error as GraphQLError).message);
    }
  };
}
