import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
} from "graphql";
import { meaningOf } from "../../domain/kernel/values.js";
import { withoutEdges } from "../../runtime/pasted.js";
import { accessOf, rootFields } from "./access.js";

type Target = GraphQLArgument | GraphQLInputField;
type Values = Record<string, unknown>;

const isPasted = (target: Target): boolean => {
  const { value } = accessOf(target);
  return value !== undefined && meaningOf(value).markPasted === true;
};

/**
 * Removes the white space around the arguments that are `pasted`, on every surface, before anything reads them: what
 * counts tries by email included. Wraps the resolvers of the root fields that have such arguments.
 */
export function trimPasted(schema: GraphQLSchema): void {
  for (const field of rootFields(schema)) {
    const { resolve, args } = field;
    if (!resolve || !args.some((arg) => holdsPasted(arg))) continue;
    field.resolve = (root, given, context, info) => resolve(root, trimTargets(args, given), context, info);
  }
}

/** Input objects are pasted by their own fields. No input with such fields is in a list, or contains itself. */
const fieldsIn = ({ type }: Target): readonly Target[] => {
  const named = getNamedType(type);
  return isInputObjectType(named) ? Object.values(named.getFields()) : [];
};

const holdsPasted = (target: Target, depth = 3): boolean =>
  isPasted(target) || (depth > 0 && fieldsIn(target).some((each) => holdsPasted(each, depth - 1)));

function trimTargets(targets: readonly Target[], given: Values): Values {
  const result = { ...given };
  for (const target of targets) {
    const { name } = target;
    const value = given[name];
    if (typeof value === "string") {
      if (isPasted(target)) result[name] = withoutEdges(value);
    } else if (typeof value === "object" && value !== null && !Array.isArray(value) && holdsPasted(target)) {
      result[name] = trimTargets(fieldsIn(target), value as Values);
    }
  }
  return result;
}
