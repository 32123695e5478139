// What the growth bench measures: a small against a large database. The bench itself takes minutes, and runs on demand.
import { expect } from "chai";
import { casesOf } from "../bench/growth/cases.js";
import { world } from "./support/world.js";

describe("the growth bench", () => {
  const the = world();

  it("has a case for every query and every GET, and for every argument of them", async () => {
    expect((await casesOf(new URL(the().app.url))).length).to.be.above(500);
  });
});
