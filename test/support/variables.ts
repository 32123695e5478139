// Variables mean the same to both executors, and in every execution of an operation.
// Looks inside: compares the two ways to execute an operation, which clients cannot choose.
import { expect } from "chai";
import { execute, type ExecutionResult, parse, validate } from "graphql";
import type { Context } from "../../src/domain/kernel/context.js";
import { prepare } from "../../src/graphql/engine/execute.js";
import { echoSchema, RandomDocument } from "./documents.js";
import { Random } from "./random.js";

const seed = Number(process.env.STEWARD_TEST_SEED ?? 1);
const runsEach = 4;

/** A response as JSON, with its errors sorted. */
const plain = ({ data = null, errors = [] }: ExecutionResult) =>
  JSON.stringify({
    data,
    errors: errors.map(({ message, path, locations }) => JSON.stringify({ message, path, locations })).sort(),
  });

/** Declares the test, of so many random documents. */
export const testVariables = (documents: number): void => {
  describe("variables", () => compareExecutions(documents));
};

function compareExecutions(documents: number): void {
  it(`mean the same to both executors and in every execution (STEWARD_TEST_SEED=${seed})`, async () => {
    const schema = echoSchema();
    const random = new Random(seed, ["a", "1"]);
    let valid = 0;
    let failing = 0;
    for (let n = 0; n < documents; n++) {
      const document = new RandomDocument(schema, random);
      const parsed = parse(document.text);
      if (validate(schema, parsed).length > 0) continue;
      valid++;
      // Interpreted at its first run, and compiled from its second one if the compiler reads it alike.
      const operation = prepare(schema, parsed);
      for (let run = 0; run < runsEach; run++) {
        const variables = document.variables();
        const expected = await execute({ schema, document: parsed, variableValues: variables });
        if (expected.errors) failing++;
        const what = `${document.text}\n${JSON.stringify(variables)}`;
        const result = await operation.admit({ request: {} } as Context).run(variables);
        expect(plain(result), what).to.equal(plain(expected));
      }
    }
    // If most documents were invalid, or most values failed, the comparison would prove little.
    expect(valid).to.be.above(documents * 0.6);
    expect(failing).to.be.within(valid * runsEach * 0.05, valid * runsEach * 0.6);
  });
}
