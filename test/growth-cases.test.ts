// What the growth bench measures: a small against a large database. The bench itself takes minutes, and runs on demand.
import { cases } from "../bench/growth/cases.js";
import { requireCoverage } from "../bench/growth/coverage.js";
import { world } from "./support/world.js";

describe("the growth bench", () => {
  const the = world();

  it("has a case for every query and every GET, and for every argument of them", async () => {
    await requireCoverage(cases, new URL(the().app.url));
  });
});
