// Input types and the arguments of fields, made from the inputs that the domain declares, and the white space that was
// pasted with their values.
// oxlint-disable no-underscore-dangle -- zod names so what extensions of it read.
import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
} from "graphql";
import { ArgsType, type ClassType, Field, InputType, Int } from "type-graphql";
import * as z from "zod/mini";
import { contentOf, meaningOf } from "../../domain/kernel/values.js";
import { withoutEdges } from "../../runtime/pasted.js";
import { Access, accessOf, rootFields } from "./access.js";
import { BigInt, DateTime, EmailAddress, JSONObject, Url, UUID } from "./scalars.js";

const scalars = { UUID, DateTime, EmailAddress, URL: Url, BigInt, JSONObject } as const;

/** The input types by the inputs they were made from. */
const made = new WeakMap<z.core.$ZodType, ClassType>();

interface InputOptions {
  /** Default: "Input of `createGroup`." for the input type `CreateGroupInput`. */
  description?: string;
  /** The field that a wire map uses as its key, for entries of lists that REST spells as `{"<key>": …}`. */
  entryKey?: string;
}

/** Makes the input type of an input of the domain. Inputs that it contains have to be made as well. */
export function inputType<Shape extends z.core.$ZodLooseShape>(
  name: string,
  declared: z.ZodMiniObject<Shape>,
  { description = inputOf(name), entryKey }: InputOptions = {},
): ClassType<z.output<z.ZodMiniObject<Shape>>> {
  const Input = classOf(declared, name);
  InputType(name, { description })(Input);
  if (entryKey !== undefined) Access({ entryKey })(Input);
  made.set(declared, Input);
  return Input as never;
}

/** Makes the arguments of fields from those that the domain declares: `@Args(() => GroupsArgs) query: GroupsQuery`. */
export function argumentsOf(declared: z.ZodMiniObject): ClassType {
  const Arguments = classOf(declared, "The class of arguments");
  ArgsType()(Arguments);
  return Arguments;
}

/** Makes a class with the fields of an input. */
function classOf({ shape }: z.ZodMiniObject, name: string): ClassType {
  // oxlint-disable-next-line typescript/no-extraneous-class -- It gets its fields below.
  class Input {}
  for (const [field, schema] of Object.entries<z.core.$ZodType>(shape)) {
    const text = z.globalRegistry.get(schema)?.description;
    if (text === undefined) throw new Error(`${name}.${field} has no description.`);
    const nullable = schema._zod.optin === "optional" && !(schema instanceof z.ZodMiniDefault);
    const defaultValue = schema instanceof z.ZodMiniDefault ? schema._zod.def.defaultValue : undefined;
    // The library reads it at each call. It is known only when all inputs are made.
    let type: object | undefined;
    const read = () => (type ??= typeOf(schema)) as never;
    Field(read, { nullable, defaultValue, description: text })(Input.prototype, field);
    Access({ value: schema })(Input.prototype, field);
  }
  return Input;
}

/** `CreateGroupInput` → "Input of `createGroup`." */
const inputOf = (name: string) => `Input of \`${name[0]!.toLowerCase()}${name.slice(1, -"Input".length)}\`.`;

/** The type of a value in the terms of type-graphql: a list is an array of the type of its entries. */
function typeOf(schema: z.core.$ZodType): object {
  const content = contentOf(schema);
  const { scalar } = meaningOf(content);
  if (scalar !== undefined) return scalars[scalar];
  if (content instanceof z.ZodMiniArray) return [typeOf(content._zod.def.element)];
  if (content instanceof z.ZodMiniEnum) return content._zod.def.entries;
  if (content instanceof z.ZodMiniObject) return madeOf(content);
  if (content instanceof z.ZodMiniBoolean) return Boolean;
  if (content instanceof z.ZodMiniNumberFormat) return Int;
  if (content instanceof z.ZodMiniNumber) return Number;
  if (content instanceof z.ZodMiniString) return String;
  throw new Error(`Values of the type ${content._zod.def.type} have no input type.`);
}

/** The input type of an input, which fields have with a description of their own. */
function madeOf(declared: z.core.$ZodType): ClassType {
  const known = made.get(declared);
  if (known) return known;
  if (!declared._zod.parent) throw new Error("An input of a field has no input type.");
  return madeOf(declared._zod.parent);
}

type Target = GraphQLArgument | GraphQLInputField;
type Values = Record<string, unknown>;
type Trim = (value: unknown) => unknown;

/**
 * Removes the white space around the arguments that are `pasted`, on every surface, before anything reads them: what
 * counts tries by email included. Wraps the resolvers of the root fields that have such arguments.
 */
export function trimPasted(schema: GraphQLSchema): void {
  for (const field of rootFields(schema)) {
    const { resolve, args } = field;
    const trim = trimAll(args);
    if (resolve && trim) field.resolve = (root, given, context, info) => resolve(root, trim(given), context, info);
  }
}

/** How an object with these fields is trimmed: undefined if none of them is pasted. */
function trimAll(targets: readonly Target[], depth = 3): Trim | undefined {
  const trims = targets.flatMap((target) => {
    const trim = trimOf(target, depth);
    return trim ? [[target.name, trim] as const] : [];
  });
  if (trims.length === 0) return undefined;
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const result: Values = { ...value };
    for (const [name, trim] of trims) if (name in result) result[name] = trim(result[name]);
    return result;
  };
}

/** Input objects are pasted by their own fields. No input with such fields is in a list, or contains itself. */
function trimOf(target: Target, depth: number): Trim | undefined {
  const { value } = accessOf(target);
  if (value !== undefined && meaningOf(value).isPasted) return withoutEdgesIfText;
  const named = getNamedType(target.type);
  return depth > 0 && isInputObjectType(named) ? trimAll(Object.values(named.getFields()), depth - 1) : undefined;
}

const withoutEdgesIfText: Trim = (value) => (typeof value === "string" ? withoutEdges(value) : value);
