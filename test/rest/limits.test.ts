// A limit is stated once: what changes with it in the whole program.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";

/** Where the length of names of groups is, as a program has it. */
interface Limits {
  schema: string;
  openapi: { maxLength: number; description: string };
  refused: string;
  firstRefused: number;
  form: { firstRefused: number; refused: string };
  column: number;
}

async function limitsOf(...args: string[]): Promise<Limits> {
  const options = ["--import", "./tools/ts-loader.mjs", "test/support/group-limits.ts", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  return JSON.parse(stdout) as Limits;
}

describe("a limit that is changed in one place", () => {
  for (const length of [36, 20]) {
    it(`is ${length} in the schema, in the API reference, in the check, in the form, and in the column`, async () => {
      const found = await limitsOf(...(length === 36 ? [] : [`--groups=${length}`]));
      const words = `at most ${length} letters, digits, and single hyphens between them`;
      expect(found.schema).to.equal(`Unique in the organization: ${words}.`);
      expect(found.openapi).to.include({ maxLength: length, description: found.schema });
      expect(found.firstRefused).to.equal(length + 1);
      expect(found.refused).to.equal(`Must be 1 to ${length} letters, digits and single hyphens between them.`);
      expect(found.form).to.deep.equal({ firstRefused: length + 1, refused: `Must be ${words}.` });
      expect(found.column).to.equal(length);
    });
  }
});
