// Looks inside: values that do not fit their fields are defects, which the schema of the program has none of.
import { expect } from "chai";
import { buildSchema, parse } from "graphql";
import type { Context } from "../../src/domain/kernel/context.js";
import { translate } from "../../src/graphql/engine/errors.js";
import { prepare } from "../../src/graphql/engine/execute.js";

describe("errors of GraphQL", () => {
  const schema = buildSchema(
    "enum Color { RED } type Query { number: Int! color: Color list: [Int] echo(text: String!): String }",
  );
  const values: Record<string, unknown> = { number: null, color: "BLUE", list: 5, echo: "x" };
  for (const [name, field] of Object.entries(schema.getQueryType()!.getFields())) {
    field.extensions = { open: true };
    field.resolve = () => values[name];
  }

  for (const isStored of [true, false]) {
    const how = isStored ? "compiled" : "interpreted";
    for (const field of ["number", "color", "list"]) {
      it(`are defects if a value does not fit its field: ${field}, ${how}`, async () => {
        const { errors } = await prepare(schema, parse(`{ ${field} }`), undefined, { isStored })
          .admit({ request: {} } as Context)
          .run({});
        expect(translate(errors![0])).to.include({
          code: "INTERNAL_SERVER_ERROR",
          message: "An internal error occurred.",
        });
      });
    }

    it(`are the caller's fault if an argument is missing, ${how}`, async () => {
      const operation = prepare(schema, parse('query($text: String = "x") { echo(text: $text) }'), undefined, {
        isStored,
      });
      const { errors } = await operation.admit({ request: {} } as Context).run({ text: null });
      expect(translate(errors![0])).to.include({ code: "BAD_USER_INPUT" });
    });
  }
});
