// Writes `schema.graphql`, the public schema, and `input-values.json`, the kinds and limits of the values of its inputs. Both
// are committed, so that reviews show their changes.
import "reflect-metadata";
import { writeFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { getSchema } from "../src/graphql/schema.js";
import { inputValuesOf } from "./input-values.js";

const write = (name: string, text: string) => writeFileSync(new URL(`../${name}`, import.meta.url), `${text}\n`);

const schema = lexicographicSortSchema(getSchema());
write("schema.graphql", printSchema(schema));
write("input-values.json", JSON.stringify(inputValuesOf(schema), undefined, 2));
