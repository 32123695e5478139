// Writes `schema.graphql`, the schema as clients see it. It is committed, so that changes of it show in reviews.
import "reflect-metadata";
import { writeFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { createSchema } from "../src/graphql/schema.js";

writeFileSync(
  new URL("../schema.graphql", import.meta.url),
  `${printSchema(lexicographicSortSchema(createSchema()))}\n`,
);
