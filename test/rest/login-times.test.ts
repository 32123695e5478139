// Whether the time of a login tells which addresses have accounts: samples are compared, whatever the machine does besides.
import { expect } from "chai";
import { usualHashes } from "../support/app.js";
import { world } from "../support/world.js";

const path = "/api/v2/users/login";

/**
 * The number of standard deviations between the rank sum of two samples and its expectation for equal distributions
 * (Mann-Whitney). Equal distributions exceed 4 once in 16,000 runs.
 */
function rankDistance(some: number[], others: number[]): number {
  const pairs = some.length * others.length;
  const wins = some.flatMap((one) => others.filter((other) => other < one)).length;
  return Math.abs(wins - pairs / 2) / Math.sqrt((pairs * (some.length + others.length + 1)) / 12);
}

describe("login", () => {
  const the = world(usualHashes);

  it("takes as long for an unknown email as for a wrong password", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const timed = async (email: string) => {
      const begun = performance.now();
      await w.nobody.post(path, { email, password: "wrong" });
      return performance.now() - begun;
    };
    const [unknown, known]: [number[], number[]] = [[], []];
    for (let round = 0; round < 40; round++) {
      // Alternating, so that other load on the machine affects both alike.
      const tries = [
        async () => unknown.push(await timed("nobody@example.com")),
        async () => known.push(await timed(ada!.email)),
      ];
      for (const attempt of round % 2 ? tries : tries.toReversed()) await attempt();
    }
    expect(rankDistance(unknown, known)).to.be.below(4);
  });
});
