import { GraphQLObjectType, type GraphQLSchema, isAbstractType } from "graphql";
import { buildSchemaSync, type NonEmptyArray } from "type-graphql";
import { checkArguments, requireDeclaredScopes } from "./engine/needs.js";
import { limitTries } from "./engine/rate-limits.js";
import { resolvers } from "./engine/resolvers.js";

/** The one schema behind every surface. */
export function createSchema(): GraphQLSchema {
  const schema = buildSchemaSync({
    resolvers: resolvers as unknown as NonEmptyArray<Function>,
    validate: false,
    // Each subscription brings its own `subscribe`; the builder only insists that something is here.
    pubSub: {
      publish: () => {},
      subscribe: () => {
        throw new Error("Subscriptions bring their own source.");
      },
    },
  });
  requireDeclaredScopes(schema);
  resolveTypesByName(schema);
  checkArguments(schema);
  limitTries(schema);
  return schema;
}

/** Values of unions and interfaces name their type in `__typename`; the compiler needs that answer synchronously. */
function resolveTypesByName(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isAbstractType(type)) type.resolveType = (value: { __typename: string }) => value.__typename;
    if (type instanceof GraphQLObjectType) delete (type as Partial<GraphQLObjectType>).isTypeOf;
  }
}
