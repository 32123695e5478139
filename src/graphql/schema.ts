import { GraphQLObjectType, type GraphQLSchema, isAbstractType } from "graphql";
import { buildSchemaSync, type NonEmptyArray } from "type-graphql";
import { checkArguments, requireDeclaredScopes } from "./engine/access.js";
import { paceConnections } from "./engine/result.js";
import { trimPasted } from "./engine/inputs.js";
import { limitTries } from "./engine/rate-limits.js";
import * as resolvers from "./engine/resolvers.js";

let built: GraphQLSchema | undefined;

/** Returns the schema. All servers of a process share it. */
export const getSchema = (): GraphQLSchema => (built ??= buildSchema());

export function buildSchema(): GraphQLSchema {
  const schema = buildSchemaSync({
    resolvers: Object.values(resolvers) as unknown as NonEmptyArray<Function>,
    validate: false,
    // The builder's check reads the whole schema by introspection, which takes 80 ms; the first operation checks as much.
    skipCheck: true,
    // Unused, since each subscription has its own `subscribe` function, but required by the builder.
    pubSub: {
      publish: () => {},
      subscribe: () => {
        throw new Error("Subscriptions provide their own source.");
      },
    },
  });
  describeRoots(schema);
  requireDeclaredScopes(schema);
  resolveTypesByName(schema);
  checkArguments(schema);
  limitTries(schema);
  trimPasted(schema);
  paceConnections(schema);
  return schema;
}

/** Describes the root types, for which the builder takes no descriptions. */
function describeRoots(schema: GraphQLSchema): void {
  schema.getQueryType()!.description =
    "Queries read. A query for an object that is missing or unreadable returns null with the error NOT_FOUND; the other queries of the document are unaffected.";
  schema.getMutationType()!.description =
    "Mutations change. A document has one mutation, which is one transaction: a response with errors means that nothing was stored.";
  schema.getSubscriptionType()!.description = "Subscriptions stream events, over a WebSocket.";
}

/** Resolves unions and interfaces by the `__typename` of their values: the compiler requires a synchronous `resolveType`. */
function resolveTypesByName(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isAbstractType(type)) type.resolveType = (value: { __typename: string }) => value.__typename;
    if (type instanceof GraphQLObjectType) delete (type as Partial<GraphQLObjectType>).isTypeOf;
  }
}
