import { expect } from "chai";
import { buildSchema, parse } from "graphql";
import type { Context } from "../src/domain/kernel/context.js";
import { translate } from "../src/graphql/engine/errors.js";
import { prepare } from "../src/graphql/engine/execute.js";

describe("what goes wrong in GraphQL", () => {
  const schema = buildSchema(
    "enum Colour { RED } type Query { number: Int! colour: Colour list: [Int] echo(text: String!): String }",
  );
  const values: Record<string, unknown> = { number: null, colour: "BLUE", list: 5, echo: "x" };
  for (const [name, field] of Object.entries(schema.getQueryType()!.getFields())) {
    field.extensions = { open: true };
    field.resolve = () => values[name];
  }

  for (const compiled of [true, false]) {
    const how = compiled ? "compiled" : "interpreted";
    for (const field of ["number", "colour", "list"]) {
      it(`is a defect when a value does not fit its field: ${field}, ${how}`, async () => {
        const { errors } = await prepare(schema, parse(`{ ${field} }`), undefined, compiled).run({} as Context, {});
        expect(translate(errors![0])).to.include({
          code: "INTERNAL_SERVER_ERROR",
          message: "An internal error occurred.",
        });
      });
    }

    it(`is the caller's doing when an argument is missing, ${how}`, async () => {
      const operation = prepare(schema, parse('query($text: String = "x") { echo(text: $text) }'), undefined, compiled);
      const { errors } = await operation.run({} as Context, { text: null });
      expect(translate(errors![0])).to.include({ code: "BAD_USER_INPUT" });
    });
  }
});
