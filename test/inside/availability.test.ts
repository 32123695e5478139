// What the log says when the database is lost and when it returns.
// Looks inside: the clock of what the log says is mocked, instead of waits of seconds.
import { mock } from "node:test";
import { expect } from "chai";
import { Availability } from "../../src/infrastructure/database/availability.js";

describe("the availability of the database", () => {
  afterEach(() => mock.restoreAll());

  it("is logged when it is lost, and again once no statement has failed for five seconds", () => {
    const lines: string[] = [];
    const log = { error: (_: object, line: string) => lines.push(line), info: (line: string) => lines.push(line) };
    const availability = new Availability(log as unknown as ConstructorParameters<typeof Availability>[0]);
    let now = 1_000_000;
    mock.method(performance, "now", () => now);
    const fail = (code = "ECONNREFUSED") => availability.noteFailure(Object.assign(new Error("x"), { code }));
    const linesAfter = (milliseconds: number, report: () => void) => {
      now += milliseconds;
      report();
      return lines.length;
    };
    expect(
      linesAfter(0, () => fail("23505")),
      "another failure",
    ).to.equal(0);
    expect(linesAfter(0, fail), "the first failure").to.equal(1);
    expect(linesAfter(4_000, fail), "a later failure").to.equal(1);
    expect(
      linesAfter(4_999, () => availability.noteSuccess()),
      "a success soon after",
    ).to.equal(1);
    expect(
      linesAfter(1, () => availability.noteSuccess()),
      "a success later",
    ).to.equal(2);
    expect(
      linesAfter(0, () => availability.noteSuccess()),
      "the next success",
    ).to.equal(2);
    expect(linesAfter(0, fail), "the next loss").to.equal(3);
  });
});
