import {
  type DocumentNode,
  getNamedType,
  getOperationAST,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { type Need, requireScopes } from "../../domain/authorization/authorization.js";
import { accessOf, coveredBy, declaresScopes, neededBy, neededToRead, referencesOf, requireOneOf } from "./access.js";
import { fragmentsOf } from "./selections.js";

type Field = GraphQLField<unknown, unknown>;

/** The root fields of an operation, and what it needs of the credential's scopes. */
export interface Selection {
  roots: ReadonlySet<Field>;
  needs: readonly Need[];
}

/** Walks a valid document of one operation. Introspection needs no scopes. */
export function selectionOf(schema: GraphQLSchema, document: DocumentNode): Selection {
  const operation = getOperationAST(document)!;
  const fragments = fragmentsOf(document);
  const roots = new Set<Field>();
  const needs = new Set<Need>();
  /** Visited fragments by the field that leads to them: spread there again, they need the same. */
  const visited = new Map<Field | undefined, Set<string>>();

  function walk({ selections }: SelectionSetNode, type: GraphQLNamedType, leading?: Field): void {
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) spread(selection.name.value, leading);
      else if (selection.kind === Kind.INLINE_FRAGMENT)
        walk(selection.selectionSet, conditionOf(selection.typeCondition?.name.value, type), leading);
      else if (isObjectType(type) || isInterfaceType(type)) {
        const field = type.getFields()[selection.name.value];
        if (!field) continue;
        if (!leading) roots.add(field);
        for (const need of [...neededBy(field), ...neededToRead(type, field, leading)]) needs.add(need);
        if (selection.selectionSet) walk(selection.selectionSet, getNamedType(field.type), field);
      }
    }
  }

  function spread(name: string, leading: Field | undefined): void {
    const seen = visited.get(leading) ?? new Set();
    if (seen.has(name)) return;
    visited.set(leading, seen.add(name));
    const { typeCondition, selectionSet } = fragments.get(name)!;
    walk(selectionSet, schema.getType(typeCondition.name.value)!, leading);
  }

  const conditionOf = (name: string | undefined, type: GraphQLNamedType) =>
    name === undefined ? type : schema.getType(name)!;

  walk(operation.selectionSet, schema.getRootType(operation.operation)!);
  return { roots, needs: [...needs] };
}

/** Throws at boot for root fields that do not declare their scopes, and for declarations of unknown fields. */
export function requireDeclaredScopes(schema: GraphQLSchema): void {
  const silent = rootFields(schema).filter((field) => !declaresScopes(field));
  if (silent.length > 0) throw new Error(`No scopes are declared for ${silent.map(({ name }) => name).join(", ")}.`);
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    requireFields(type, referencesOf(type));
    for (const field of Object.values(type.getFields())) requireFields(getNamedType(field.type), coveredBy(field));
  }
}

function requireFields(type: GraphQLNamedType, names: readonly string[]): void {
  const fields = isObjectType(type) ? type.getFields() : {};
  const unknown = names.find((name) => !(name in fields));
  if (unknown !== undefined) throw new Error(`${type.name} has no field ${unknown}.`);
}

/** Checks what root fields need by their arguments before they resolve and before their transaction begins. */
export function checkArguments(schema: GraphQLSchema): void {
  for (const field of rootFields(schema)) {
    const { resolve } = field;
    const { byArguments } = accessOf(field);
    if (!resolve || !byArguments) continue;
    field.resolve = (root, args, context, info) => {
      const { actor } = context as Context;
      const { needs = [], openTo = ["user"] } = byArguments(args as never);
      requireOneOf(openTo, actor);
      requireScopes(actor, needs);
      return resolve(root, args, context, info);
    };
  }
}

/** The fields of Query, Mutation, and Subscription. */
export const rootFields = (schema: GraphQLSchema): Field[] =>
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  );
