// The operations of the console, and the modules that are generated from them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { generateTypes } from "../../tools/console-types.mjs";
import { root } from "./project.js";

describe("the operations of the console", () => {
  it("are valid in the schema, and their modules are as npm run console:types writes them", async () => {
    const modules = Object.entries(await generateTypes());
    expect(modules).to.have.length.above(20);
    for (const [path, text] of modules)
      expect(readFileSync(join(root, path), "utf8") === text, `${path} is current`).to.equal(true);
  });
});
