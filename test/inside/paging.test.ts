// Looks inside: cursors and pages are pure functions, with a case for each malformed one.
import { expect } from "chai";
import { DomainError, Problems } from "../../src/domain/kernel/errors.js";
import {
  cursor,
  invalidQuery,
  type OrderKeys,
  type PageArguments,
  pageOf,
  readRange,
} from "../../src/domain/kernel/paging.js";

const id = "0190b5a2-7c3f-7d11-8a55-3f0c6d1e2b4a";

const read = (args: PageArguments, order: OrderKeys = { username: "text" }) => {
  const problems = new Problems();
  const range = readRange(args, order, problems);
  problems.throwIfAny(invalidQuery);
  return range;
};

const faultyFields = (args: PageArguments, order?: OrderKeys): string[] => {
  try {
    read(args, order);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error.message).to.equal("Query parameters have invalid values.");
    return (error.details.validations ?? []).map(({ field }) => field);
  }
  return [];
};

const forged = (held: unknown) => Buffer.from(JSON.stringify(held)).toString("base64url");
const count = () => Promise.resolve(9);

describe("paging", () => {
  it("reads 100 rows from the start by default", () => {
    const usual = { limit: 100, offset: 0, isBackward: false };
    expect(read({})).to.deep.equal(usual);
    expect(read({ first: 0, after: "", offset: 0 })).to.deep.equal(usual);
    expect(read({ first: null, after: null, last: null, before: null, offset: null })).to.deep.equal(usual);
  });

  it("accepts page sizes up to 1000 and offsets up to 2147483647", () => {
    expect(read({ first: 1000, offset: 2147483647 })).to.include({ limit: 1000, offset: 2147483647 });
    expect(read({ last: 7 })).to.deep.equal({ limit: 7, offset: 0, isBackward: true });
    for (const first of [-1, 1001, 1.5, Number.NaN]) expect(faultyFields({ first })).to.deep.equal(["first"]);
    for (const offset of [-1, 2147483648, 0.5]) expect(faultyFields({ offset })).to.deep.equal(["offset"]);
  });

  it("reports all faults together", () => {
    expect(faultyFields({ first: -1, after: "?", offset: -1 })).to.deep.equal(["first", "after", "offset"]);
    expect(faultyFields({ first: 1, last: 1001, after: cursor(id, { username: "ann" }), before: "?" })).to.deep.equal([
      "first",
      "after",
      "last",
      "before",
    ]);
  });

  it("reads a place from a cursor, or from the id of a row", () => {
    expect(read({ after: cursor(id, { username: "ann" }) }).place).to.deep.equal({ id, keys: ["ann"] });
    expect(read({ before: cursor(id, { username: "ann" }) })).to.deep.equal({
      limit: 100,
      offset: 0,
      isBackward: true,
      place: { id, keys: ["ann"] },
    });
    expect(read({ after: id.toUpperCase() }).place).to.deep.equal({ id });
    const time = "2026-01-31T08:00:00.000Z";
    expect(read({ after: cursor(id, { name: "é", time }) }, { name: "text", time: "time" }).place).to.deep.equal({
      id,
      keys: ["é", time],
    });
  });

  it("rejects cursors of other lists and orders, and malformed ones", () => {
    for (const after of [
      "x",
      "not a cursor",
      forged(null),
      forged({}),
      forged([]),
      forged([id, "ann"]),
      forged({ username: "ann" }),
      forged({ id, username: 7 }),
      forged({ id: "1", username: "ann" }),
      forged({ id, username: "a\0b" }),
      forged({ id, username: "\ud800" }),
      cursor(id, {}),
      cursor(id, { name: "ann" }),
      cursor(id, { username: "ann", name: "lee" }),
      cursor(id, { username: "x".repeat(5000) }),
    ])
      expect(faultyFields({ after }), after.slice(0, 80)).to.deep.equal(["after"]);
    for (const time of ["yesterday", "2026-02-30T00:00:00.000Z", "0000-01-01T00:00:00.000Z", "2026-01-31"])
      expect(faultyFields({ after: cursor(id, { time }) }, { time: "time" }), time).to.deep.equal(["after"]);
  });

  it("builds a page from the rows fetched, one more than the page size", () => {
    const facts = { cursor: (row: number) => `c${row}`, count };
    const page = (args: PageArguments, fetched: number[]) => pageOf(read(args), fetched, facts);
    expect(page({ first: 2 }, [1, 2, 3])).to.deep.equal({
      ...facts,
      nodes: [1, 2],
      hasNextPage: true,
      hasPreviousPage: false,
    });
    expect(page({ first: 2, after: id }, [3, 4])).to.deep.include({
      nodes: [3, 4],
      hasNextPage: false,
      hasPreviousPage: true,
    });
    expect(page({ first: 2, offset: 1 }, [2])).to.deep.include({
      nodes: [2],
      hasNextPage: false,
      hasPreviousPage: true,
    });
    expect(page({ last: 2 }, [9, 8, 7])).to.deep.include({ nodes: [8, 9], hasNextPage: false, hasPreviousPage: true });
    expect(page({ last: 2, before: id }, [2, 1])).to.deep.include({
      nodes: [1, 2],
      hasNextPage: true,
      hasPreviousPage: false,
    });
  });
});
