import {
  type DocumentNode,
  getNamedType,
  type GraphQLArgument,
  type GraphQLEnumType,
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLScalarType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  TypeInfo,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from "graphql";
import type { Problems } from "../../domain/kernel/errors.js";
import { textProblem } from "../../domain/kernel/text.js";

/** How a surface spells inputs. */
export interface Spelling {
  /** The name of an input field as the caller writes it. */
  field(name: string): string;
  /** The value of an enum member as the caller writes it. */
  enumValue(member: { name: string; value: unknown }): string;
  /** Whether null is the same as absent. */
  nullIsAbsent: boolean;
  /** Whether fields that the type does not have are faults. */
  strict: boolean;
  /** Whether lists of entries with a declared key are written as maps. */
  maps: boolean;
  /** Whether a value in the place of a list stands for a list of it alone. */
  loneItems: boolean;
}

/** GraphQL's own spelling: nothing is renamed. */
export const asDeclared: Spelling = {
  field: (name) => name,
  enumValue: ({ name }) => name,
  nullIsAbsent: false,
  strict: true,
  maps: false,
  loneItems: true,
};

/** Turns a value as the caller wrote it into the variable GraphQL expects, and notes every fault of form on the way. */
export type Reader = (value: unknown, path: string, problems: Problems) => unknown;

/** The form of a type: which JSON values it accepts. Rules beyond form belong to the domain. */
export function readerOf(type: GraphQLInputType, spelling: Spelling, rule?: string): Reader {
  const read = readers(spelling);
  return read(type, rule);
}

/** The reader of an operation's variable. One with a default may be absent. */
export function variableReader(
  type: GraphQLInputType,
  hasDefault: boolean,
  spelling: Spelling,
  rule: string | undefined,
): Reader {
  const read = readerOf(type, spelling, rule);
  if (!hasDefault) return read;
  return (value, path, problems) =>
    value === undefined || (value === null && spelling.nullIsAbsent) ? undefined : read(value, path, problems);
}

function readers(spelling: Spelling) {
  const objects = new Map<GraphQLInputObjectType, Reader>();

  function read(type: GraphQLInputType, rule?: string): Reader {
    if (isNonNullType(type)) return required(read(type.ofType, rule));
    if (isListType(type)) return nullable(list(type.ofType));
    if (isInputObjectType(type)) return nullable(object(type));
    return nullable(isEnumType(type) ? member(type) : scalar(type, rule));
  }

  const required =
    (inner: Reader): Reader =>
    (value, path, problems) =>
      value == null ? problems.add(path, "Is required.") : inner(value, path, problems);

  const nullable =
    (inner: Reader): Reader =>
    (value, path, problems) => {
      if (value === undefined || (value === null && spelling.nullIsAbsent)) return undefined;
      return value === null ? null : inner(value, path, problems);
    };

  function list(of: GraphQLInputType): Reader {
    const item = read(of);
    const key = spelling.maps ? entryKeyOf(of) : undefined;
    const items: Reader = (value, path, problems) => {
      if (Array.isArray(value)) return value.map((each, index) => item(each, `${path}[${index}]`, problems));
      return spelling.loneItems ? [item(value, path, problems)] : problems.add(path, "Must be a list.");
    };
    return key ? entries(of, key) : items;
  }

  /** `{"<key>": {…}}` → `[{key, …}]`; `{"<key>": value}` → `[{key, <the other field>: value}]`. */
  function entries(of: GraphQLInputType, key: string): Reader {
    const type = (isNonNullType(of) ? of.ofType : of) as GraphQLInputObjectType;
    const others = Object.values(type.getFields()).filter((field) => field.name !== key);
    const single = others.length === 1 ? others[0] : undefined;
    const rest = single ? read(single.type) : fieldsOf(others);
    return (value, path, problems) => {
      if (!isObject(value)) return problems.add(path, "Must be an object.");
      return Object.entries(value).map(([name, entry]) => {
        const content = rest(entry, `${path}.${name}`, problems);
        return single ? { [key]: name, [single.name]: content } : { [key]: name, ...(content as object | undefined) };
      });
    };
  }

  function object(type: GraphQLInputObjectType): Reader {
    const seen = objects.get(type);
    if (seen) return seen;
    let fields: Reader | undefined;
    const reader: Reader = (value, path, problems) =>
      (fields ??= fieldsOf(Object.values(type.getFields())))(value, path, problems);
    objects.set(type, reader);
    return reader;
  }

  function fieldsOf(declared: Array<ReturnType<GraphQLInputObjectType["getFields"]>[string]>): Reader {
    const fields = declared.map((field) => ({
      name: field.name,
      wire: spelling.field(field.name),
      optional: !isRequiredInputField(field),
      read: read(field.type, ruleOf(field)),
    }));
    const known = new Set(fields.map((field) => field.wire));
    return (value, path, problems) => {
      if (!isObject(value)) return problems.add(path, "Must be an object.");
      const result: Record<string, unknown> = {};
      for (const { name, wire, optional, read: readField } of fields) {
        if (value[wire] === undefined && optional) continue;
        const content = readField(value[wire], join(path, wire), problems);
        if (content !== undefined) result[name] = content;
      }
      if (spelling.strict) {
        for (const extra of Object.keys(value))
          if (!known.has(extra)) problems.add(join(path, extra), "Is not a field of this input.");
      }
      return result;
    };
  }

  function member(type: GraphQLEnumType): Reader {
    const names = new Map(type.getValues().map((each) => [spelling.enumValue(each), each.name]));
    const rule = `Must be one of: ${[...names.keys()].map((name) => JSON.stringify(name)).join(", ")}.`;
    return (value, path, problems) => names.get(value as string) ?? problems.add(path, rule);
  }

  return read;
}

const join = (path: string, name: string) => (path ? `${path}.${name}` : name);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The key field of an entry type, where the wire writes a map. */
export function entryKeyOf(type: unknown): string | undefined {
  const named = isNonNullType(type) ? type.ofType : type;
  return (named as { extensions?: { entryKey?: string } } | undefined)?.extensions?.entryKey;
}

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

function scalar(type: GraphQLScalarType, declared: string | undefined): Reader {
  const [usual, accepts] = builtIn[type.name] ?? [];
  const rule = declared ?? usual;
  return (value, path, problems) => {
    // A fault costs far more to find than a value to read.
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

export type Variables = Record<string, unknown>;

const ruleOf = ({ extensions }: Pick<GraphQLArgument, "extensions">) => extensions.rule as string | undefined;

/** The rules of the arguments and input fields that the variables of a document fill, where they state one. */
export function rulesOfVariables(schema: GraphQLSchema, document: DocumentNode): Map<string, string> {
  const rules = new Map<string, string>();
  const types = new TypeInfo(schema);
  const note = (value: ValueNode, filled: Pick<GraphQLArgument, "extensions"> | null | undefined) => {
    const rule = filled ? ruleOf(filled) : undefined;
    if (rule !== undefined && value.kind === Kind.VARIABLE) rules.set(value.name.value, rule);
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      Argument: ({ value }) => note(value, types.getArgument()),
      ObjectField({ name, value }) {
        const parent = getNamedType(types.getParentInputType());
        note(value, isInputObjectType(parent) ? parent.getFields()[name.value] : undefined);
      },
    }),
  );
  return rules;
}

/** Where each variable of a document goes: its name → the argument path it fills, such as `input` or `input.cron`. */
export function argumentPaths(document: DocumentNode): Map<string, string> {
  const paths = new Map<string, string>();
  const note = (value: ValueNode, path: string) => {
    if (value.kind === Kind.VARIABLE) paths.set(value.name.value, path);
    if (value.kind === Kind.OBJECT) for (const field of value.fields) note(field.value, `${path}.${field.name.value}`);
  };
  visit(document, {
    Argument: ({ name, value }) => note(value, name.value),
    Directive: () => false,
  });
  return paths;
}
