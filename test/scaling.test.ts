import { readFileSync } from "node:fs";
import { expect } from "chai";
import { withFigures } from "../bench/scale/document.js";
import { readFigures } from "../bench/scale/figures.js";

describe("the document about scaling", () => {
  it("has the figures of the results", () => {
    const document = readFileSync(new URL("../docs/scaling.md", import.meta.url), "utf8");
    expect(withFigures(document, readFigures())).to.equal(document);
  });
});
