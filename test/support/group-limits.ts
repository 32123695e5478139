// Prints where the limits of groups are, as a process of its own. `--groups=<length>` changes the length of names in the one
// source that has it, before anything reads it.
// Looks inside: the limits are those of the sources.
import "reflect-metadata";
import { registerHooks } from "node:module";

const length = /--groups=(\d+)/.exec(process.argv.join(" "))?.[1];
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (length === undefined || !url.endsWith("/src/entities/groups.ts")) return loaded;
    const source = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
    const changed = source.replace("longestGroupName = 36", `longestGroupName = ${length}`);
    if (changed === source) throw new Error("The length is not there.");
    return { ...loaded, source: changed };
  },
});

const { getSchema } = await import("../../src/graphql/schema.js");
const { GraphQLInputObjectType } = await import("graphql");
const { accessOf } = await import("../../src/graphql/engine/access.js");
const { faultOf } = await import("../../src/domain/kernel/values.js");
const { areas } = await import("../../src/rest/index.js");
const { routesOf } = await import("../../src/rest/engine/area.js");
const { Endpoint } = await import("../../src/rest/engine/endpoint.js");
const { storedOperations } = await import("../../src/graphql/engine/stored-operations.js");
const { contentsOf } = await import("../../src/rest/engine/openapi/openapi.js");
const { inputValuesOf } = await import("../../tools/input-values.js");
const { faultOf: faultInForm } = await import("../../clients/console/src/api/limits.js");
const { GroupSchema } = await import("../../src/entities/groups.js");

const schema = getSchema();
const input = schema.getType("CreateGroupInput");
if (!(input instanceof GraphQLInputObjectType)) throw new Error("There is no CreateGroupInput.");
const name = input.getFields()["name"]!;
const value = accessOf(name).value!;

const area = areas.find((each) => each.name === "groups")!;
const operations = storedOperations(schema, "rest/groups");
// Descriptions need no services but the configuration.
const nothing = { config: { accessUrl: "http://127.0.0.1" } } as never;
const endpoints = routesOf(area).map(
  (route) => new Endpoint(nothing, schema, nothing, route, operations.get(route.operation)!),
);
const { components } = contentsOf([{ ...area, endpoints }], {});
const { schemas } = components as { schemas: Record<string, { properties: Record<string, object> }> };

/** The length of the shortest name in which there is a fault. */
const firstRefusedBy = (fault: (given: string) => string | undefined) =>
  Array.from({ length: 100 }, (_, index) => index + 1).find((size) => fault("a".repeat(size)) !== undefined)!;
const firstRefused = firstRefusedBy((given) => faultOf(value as never, given));

/** The field as forms of the console have it. */
const inForm = inputValuesOf(schema)["CreateGroupInput"]!["name"]!;
const firstInForm = firstRefusedBy((given) => faultInForm(given, inForm));
console.log(
  JSON.stringify({
    schema: name.description,
    openapi: schemas["CreateGroupRequest"]!.properties["name"],
    refused: faultOf(value as never, "a".repeat(firstRefused)),
    firstRefused,
    form: { firstRefused: firstInForm, refused: faultInForm("a".repeat(firstInForm), inForm) },
    column: GroupSchema.meta.properties.name.length,
  }),
);
