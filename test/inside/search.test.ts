// Looks inside: search texts are parsed by a pure function, with a case for each malformed one.
import { expect } from "chai";
import { DomainError } from "../../src/domain/kernel/errors.js";
import { anyText, moment, oneOf, parseSearch, type SearchRules, uuid, yesOrNo } from "../../src/domain/search-text.js";

const keys = {
  name: anyText,
  status: oneOf("active", "suspended"),
  service_account: yesOrNo,
  created_after: moment,
  id: uuid,
};
const message = "Invalid member search query.";
const search = (text: string, rules?: SearchRules) => parseSearch(text, keys, message, rules);
const none = { name: [], status: [], service_account: [], created_after: [], id: [] };

const faultsOf = (text: string, rules?: SearchRules): string[] => {
  try {
    search(text, rules);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    expect(error).to.include({ code: "BAD_USER_INPUT", message });
    const validations = error.details.validations ?? [];
    for (const { field } of validations) expect(field).to.equal("q");
    return validations.map(({ detail }) => detail);
  }
  return [];
};

describe("search texts", () => {
  it("consist of words and keyed terms", () => {
    expect(search("")).to.deep.equal({ words: [], terms: none });
    expect(search("  \t\n ")).to.deep.equal({ words: [], terms: none });
    expect(search(" ann  status:active\tbob ")).to.deep.equal({
      words: [["ann"], ["bob"]],
      terms: { ...none, status: [["active"]] },
    });
  });

  it("match all terms, each with any of its values", () => {
    expect(search("ann,bob name:x,y name:z status:active,suspended")).to.deep.equal({
      words: [["ann", "bob"]],
      terms: { ...none, name: [["x", "y"], ["z"]], status: [["active", "suspended"]] },
    });
  });

  it("match keys and enum values in any letter case", () => {
    expect(search("STATUS:Active Service_Account:T").terms).to.deep.equal({
      ...none,
      status: [["active"]],
      service_account: [[true]],
    });
  });

  it("keep quoted text together", () => {
    expect(search('"ann lee" name:"a, b: c",d').words).to.deep.equal([["ann lee"]]);
    expect(search('name:"a, b: c",d').terms.name).to.deep.equal([["a, b: c", "d"]]);
    expect(search('"status:active"').words).to.deep.equal([["status:active"]]);
    expect(search(String.raw`"say \"hi\" \\ C:\dir"`).words).to.deep.equal([[String.raw`say "hi" \ C:\dir`]]);
    expect(search('a"b c"d').words).to.deep.equal([["ab cd"]]);
    expect(search('"na"me:x').words).to.deep.equal([["name:x"]]);
  });

  it("accept times, and dates as their first moment", () => {
    const { created_after: after } = search("created_after:2026-01-31T10:00:00+02:00,2026-02-01").terms;
    expect(after).to.deep.equal([["2026-01-31T08:00:00.000Z", "2026-02-01T00:00:00.000Z"]]);
  });

  it("accept ids in any letter case", () => {
    const id = "01900000-0000-7000-8000-00000000ABCD";
    expect(search(`id:${id}`).terms.id).to.deep.equal([[id.toLowerCase()]]);
    expect(faultsOf("id:01900000")).to.deep.equal(["The value of id must be a UUID."]);
  });

  it("may be limited to keyed terms with distinct keys", () => {
    const isKeyed = { isKeyed: true };
    expect(search("name:a status:active", isKeyed).terms).to.deep.equal({
      ...none,
      name: [["a"]],
      status: [["active"]],
    });
    expect(faultsOf('ann name:a "b c" NAME:c d,e')).to.deep.equal([]);
    expect(faultsOf('ann name: "b c" NAME:c d,e', isKeyed)).to.deep.equal([
      'The word "ann" must have a key.',
      "The value of name must not be empty.",
      'The word "b c" must have a key.',
      "The key name must occur only once.",
      'The word "d,e" must have a key.',
    ]);
    expect(faultsOf(`${"x".repeat(70)} no:1 no:2`, isKeyed)).to.deep.equal([
      `The word "${"x".repeat(64)}…" must have a key.`,
      'There is no search key "no".',
      'There is no search key "no".',
    ]);
  });

  it("may have colons within values", () => expect(search("name:a:b").terms.name).to.deep.equal([["a:b"]]));

  it("have all faults reported together, each naming its key", () => {
    expect(
      faultsOf("nosuch:1 status:gone,active service_account:maybe created_after:2026-02-30 name: x"),
    ).to.deep.equal([
      'There is no search key "nosuch".',
      "The value of status must be one of active, suspended.",
      "The value of service_account must be true or false.",
      "The value of created_after must be a date and time in RFC 3339 form, or YYYY-MM-DD.",
      "The value of name must not be empty.",
    ]);
    expect(faultsOf("a:b:c")).to.deep.equal(['There is no search key "a".']);
    expect(faultsOf(":x")).to.deep.equal(['There is no search key "".']);
    expect(faultsOf("a,,b")).to.deep.equal(["A word must not be empty."]);
    expect(faultsOf('""')).to.deep.equal(["A word must not be empty."]);
    expect(faultsOf('name:"open ended')).to.deep.equal(["The value of name lacks its closing quote."]);
    expect(faultsOf('ann "open')).to.deep.equal(["A word lacks its closing quote."]);
    for (const key of ["toString", "__proto__", "constructor"]) expect(faultsOf(`${key}:1`)).to.have.length(1);
  });

  it("are limited in length and number of terms", () => {
    expect(faultsOf("x".repeat(1024))).to.deep.equal([]);
    expect(faultsOf("x".repeat(1025))).to.deep.equal(["Must be at most 1024 bytes."]);
    expect(faultsOf("é".repeat(513))).to.deep.equal(["Must be at most 1024 bytes."]);
    expect(faultsOf("x ".repeat(20))).to.deep.equal([]);
    expect(faultsOf("x ".repeat(21))).to.deep.equal(["Must be at most 20 terms."]);
    expect(faultsOf("x\0y")).to.have.length(1);
    expect(faultsOf("\ud800")).to.have.length(1);
  });

  it("are either parsed or rejected, whatever they contain", () => {
    const alphabet = ['"', "\\", ":", ",", " ", "a", "status", "name:", "\n", "é"];
    let read = 0;
    for (let seed = 1; seed <= 5000; seed++) {
      let state = seed;
      const pick = () => alphabet[(state = (state * 48271) % 2147483647) % alphabet.length];
      const text = Array.from({ length: 1 + (seed % 12) }, pick).join("");
      if (faultsOf(text).length === 0) read++;
    }
    expect(read).to.be.within(1, 4999);
  });
});
