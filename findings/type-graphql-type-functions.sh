#!/usr/bin/env bash
# type-graphql 2.0.0-rc.4, graphql 16.15.0 (npm)
# Expected: `@Field(() => String)` takes a function so that classes can name each other; it is called while the schema is built.
# Seen: it is called again for each field of an input at every call of a resolver that takes the input, fields that the call
# leaves out included. Whatever such a function computes is computed for every request.
set -euo pipefail
cd "$(mktemp -d)"
npm init --yes > /dev/null
npm install --silent --ignore-scripts --no-audit --no-fund type-graphql@2.0.0-rc.4 graphql@16.15.0 graphql-scalars@1.25.0 reflect-metadata@0.2.2
cat > try.mjs <<'JS'
import "reflect-metadata";
import { graphql } from "graphql";
import { Arg, buildSchema, Field, InputType, Query, Resolver } from "type-graphql";

let read = 0;
const text = () => {
  read++;
  return String;
};
class Filter {}
for (let nr = 0; nr < 20; nr++) Field(text, { nullable: true })(Filter.prototype, `field${nr}`);
InputType("Filter")(Filter);

class Counts {
  count(filter) {
    return Object.keys(filter).length;
  }
}
const method = Object.getOwnPropertyDescriptor(Counts.prototype, "count");
Arg("filter", () => Filter)(Counts.prototype, "count", 0);
Query(() => Number)(Counts.prototype, "count", method);
Resolver()(Counts);

const schema = await buildSchema({ resolvers: [Counts], validate: false });
const whileBuilt = read;
for (let nr = 0; nr < 10; nr++) {
  const { data, errors } = await graphql({ schema, source: `{ count(filter: { field1: "a" }) }` });
  if (errors || data.count !== 1) throw new Error("The query fails.");
}
const atCalls = read - whileBuilt;
console.log({ whileBuilt, atCalls });
if (whileBuilt !== 20 || atCalls !== 200) throw new Error("The functions are called otherwise.");
JS
node try.mjs
