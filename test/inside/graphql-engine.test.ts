// Values that do not fit their fields, and documents that are kept.
// Looks inside: the schema of the program has no such fields, and no response shows which documents are kept.
import { expect } from "chai";
import { buildSchema, parse } from "graphql";
import type { Context } from "../../src/domain/kernel/context.js";
import { Documents } from "../../src/graphql/engine/documents.js";
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

describe("documents of GraphQL clients", () => {
  const store = () => new Documents(buildSchema("type Query { a: Int }")).store!;
  const held = async (texts: string[]) => {
    const kept = store();
    for (const [nr, text] of texts.entries()) await kept.set(String(nr), parse(text));
    const found = await Promise.all(texts.map((_, nr) => kept.get(String(nr))));
    return found.flatMap((each, nr) => (each ? [nr] : []));
  };

  it("are kept by number, the last ones", async () => {
    const found = await held(Array.from({ length: 1_010 }, (_, nr) => `query q${nr} { a }`));
    expect([found.length, found[0]]).to.deep.equal([1_000, 10]);
  });

  it("and by their length", async () => {
    const long = (nr: number) => `query q${nr} { a # ${"x".repeat(300_000)}\n }`;
    expect(await held([0, 1, 2, 3].map(long))).to.deep.equal([1, 2, 3]);
    expect(await held([`{ a # ${"x".repeat(1_100_000)}\n }`])).to.deep.equal([]);
  });
});
