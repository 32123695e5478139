// Writes `schema.graphql`, the public schema. It is committed, so that reviews show its changes.
import "reflect-metadata";
import { writeFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { getSchema } from "../src/graphql/schema.js";

writeFileSync(new URL("../schema.graphql", import.meta.url), `${printSchema(lexicographicSortSchema(getSchema()))}\n`);
