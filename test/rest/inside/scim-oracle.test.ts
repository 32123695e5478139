// SCIM filters and changes against other evaluations: in memory, in SQL, and by an independent library.
// Looks inside: the parsers of filters and paths are compared with an independent library.
import { expect } from "chai";
import { Messages, Schemas, Types } from "scimmy";
import { applyOperations } from "../../../src/domain/scim/apply-patch.js";
import { matches, type Values } from "../../../src/domain/scim/evaluate.js";
import { parseFilter } from "../../../src/domain/scim/filter.js";
import { readOperations } from "../../../src/domain/scim/patch-operations.js";
import { enterpriseUrn, userType, userUrn } from "../../../src/domain/scim/schema.js";
import { newScimUser, type ScimClient, scimClient } from "../../support/scim.js";
import { world } from "../../support/world.js";

/** A seeded generator (mulberry32), so that a failed run can be repeated. */
function seeded(seed: number) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (most: number) => Math.floor(next() * most);
  const one = <T>(...choices: T[]): T => choices[below(choices.length)]!;
  return { below, one, chance: (share: number) => next() < share };
}
type Dice = ReturnType<typeof seeded>;

const words = ["ada", "bob", "ad", "b", "dr", "x y", "öl", "a'b", "50%", "a_b"];
const types = ["work", "home", "other"];

/** A user with random attributes. */
function randomUser({ one, below, chance }: Dice): Values {
  const emails = Array.from({ length: 1 + below(2) }, (_, n) => ({
    value: `${one(...words).replace(/[^a-z]/g, "")}${n}@x.example`,
    type: types[n]!,
    ...(chance(0.5) && { primary: n === 0 }),
  }));
  return {
    userName: `${one(...words)}-${below(1000)}`,
    active: chance(0.5),
    ...(chance(0.5) && { title: one(...words) }),
    ...(chance(0.5) && { nickName: one(...words) }),
    name: { familyName: one(...words), ...(chance(0.5) && { givenName: one(...words) }) },
    emails,
  };
}

/** A random filter of at most `depth` levels. With `once`, no attribute occurs twice, as the library merges these. */
function randomFilter(
  dice: Dice,
  depth: number,
  names = ["userName", "title", "nickName", "name.familyName", "active", "emails"],
): string {
  const { one, below, chance } = dice;
  const half = Math.ceil(names.length / 2);
  if (depth > 0 && names.length > 1 && chance(0.5)) {
    const parts = [names.slice(0, half), names.slice(half)].map((some) => randomFilter(dice, depth - 1, some));
    return `${parts[0]} ${one("and", "or")} ${parts[1]}`;
  }
  const name = one(...names);
  const text = () => JSON.stringify(one(...words));
  if (name === "active") return `active ${one("eq", "ne")} ${one("true", "false")}`;
  if (name === "emails") return `emails[type ${one("eq", "sw")} "${one(...types)}" and value co ${text()}]`;
  if (chance(0.2)) return `${name} pr`;
  return `${name} ${["eq", "ne", "co", "sw", "ew"][below(5)]} ${text()}`;
}

/** A user, and filters that find it or do not. */
const sample = {
  id: "1",
  userName: "sample-user",
  externalId: "Sample",
  meta: { created: "2026-11-01T00:00:00.000Z" },
  title: "Dr. A",
  nickName: "",
  profileUrl: "https://people.example/ada",
  active: true,
  name: { familyName: "Öl" },
  emails: [
    { value: "a@work.example", type: "work", display: "A", primary: true },
    { value: "b@home.example", type: "home", display: "" },
  ],
  addresses: [{ type: "work", locality: "Bern" }],
  [enterpriseUrn]: { department: "Sales" },
};
const spellings: Array<[filter: string, isFound: boolean]> = [
  ['Title EQ "dr. a"', true],
  ['title eq "\\u0044r. A"', true],
  ['\ttitle\neq  "dr. a"  ', true],
  ['title ne "dr. a"', false],
  ['title eq "dr."', false],
  ['nickName ne "x"', true],
  ['nickName eq "x"', false],
  ["NOT (nickName pr)", true],
  ["not(title pr)", false],
  ["not (not (title pr))", true],
  ["nickName eq null", true],
  ["title eq NULL", false],
  ["title ne null", true],
  ["nickName ne null", false],
  ["name ne null", true],
  ["name eq null", false],
  ["roles eq null", true],
  ["active ne null", true],
  ["active eq TRUE", true],
  ["active eq false", false],
  ["active ne False", true],
  ["title pr or title pr and nickName pr", true],
  ["(title pr or title pr) and nickName pr", false],
  ["nickName pr AND title pr OR title pr", true],
  ["title pr and title pr and nickName pr", false],
  ["nickName pr or nickName pr or title pr", true],
  ["name.familyName pr", true],
  ["name.givenName pr", false],
  ['NAME.familyname sw "ÖL"', true],
  ['NAME.familyname sw "öl"', false],
  ['emails eq "A@WORK.example"', true],
  ['emails.value ew "home.example"', true],
  ['emails co "none"', false],
  ['emails ne "a@work.example"', false],
  ['emails[type eq "work"]', true],
  ['emails[type eq "work"] pr', true],
  ['emails[type eq "other"]', false],
  ['emails[type eq "other"] and title pr', false],
  ['nickName pr or emails[type eq "work"] or nickName pr', true],
  ['emails[type eq "work"] sw "a@"', true],
  ['emails[type eq "work"] sw "b@"', false],
  ['emails [ type eq "home" and value ew "home.example" ]', true],
  ['emails[type eq "work" and value ew "home.example"]', false],
  ['emails[not (type eq "work")].value sw "b"', true],
  ['emails[type eq "work"] .VALUE sw "a"', true],
  ["emails[primary eq true].value pr", true],
  ['emails[primary ne true].value sw "b"', true],
  [`${userUrn.toUpperCase()}:NAME.familyname pr`, true],
  [`${userUrn}:id pr`, true],
  [`${enterpriseUrn}:department eq "sales"`, true],
  [`${enterpriseUrn}:division pr`, false],
  ['title gt "dr"', true],
  ['title gt "dr. a"', false],
  ['title ge "dr. a"', true],
  ['title lt "dr. a"', false],
  ['title le "dr. a"', true],
  ['profileUrl gt "https://people.example/"', true],
  ['title ge "dr. b"', false],
  ['title lt "e"', true],
  ['title le "dr"', false],
  ['title eq "null"', false],
  ['nickName eq "null"', false],
  ['emails.type eq "work"', true],
  ['(emails[type eq "work"])', true],
  ['meta.created lt "2000-01-01T00:00:00Z"', false],
  ["meta.created GE 2000-01-01T00:00:00+01:00", true],
  ['preferredLanguage le "x"', false],
  ['externalId eq "Sample"', true],
  ['externalId eq "sample"', false],
  ['externalId sw "s"', false],
  ["emails.display ne null", true],
  ['emails[type eq "home"].display pr', false],
  ["addresses.country pr", false],
  ['addresses.country ne "CH"', true],
  ['addresses[type eq "WORK"].locality eq "bern"', true],
  ["addresses ne null", true],
];

const tried = 5_000;

describe("SCIM filters", () => {
  describe("in SQL", () => {
    const w = world();
    let scim: ScimClient;
    let users: Values[];
    before(async () => {
      const dice = seeded(2);
      scim = await scimClient(w());
      for (let n = 0; n < 40; n++) {
        const user = randomUser(dice);
        const made = await scim.post("/Users", {
          ...newScimUser(user),
          externalId: `e${n % 7}-${n}`,
          emails: [
            ...((user.emails ?? []) as Values[]).map((each) => ({ ...each, value: `${n}.${each.value as string}` })),
            { value: `only${n}@x.example` },
          ],
        });
        expect(made, JSON.stringify(made.body)).to.include({ status: 201 });
        if (n % 5 === 0) await scim.post("/Groups", { displayName: `Group ${n}`, members: [{ value: made.body.id }] });
      }
      await w().users("ada", "bob", "carl");
      users = (await scim.get("/Users?count=1000")).body.Resources;
    });

    /** Filters over everything that is in columns, in JSON, or in other tables. */
    function anyFilter(dice: Dice, depth: number): string {
      const { one, chance } = dice;
      if (depth > 0 && chance(0.4))
        return `${anyFilter(dice, depth - 1)} ${one("and", "or")} ${anyFilter(dice, depth - 1)}`;
      if (depth > 0 && chance(0.3)) return `${one("not ", "")}(${anyFilter(dice, depth - 1)})`;
      const user = one(...users);
      const path = one(
        "userName",
        "externalId",
        "id",
        "title",
        "name.formatted",
        "name.familyName",
        "displayName",
        "emails.value",
        "emails",
        "groups.display",
        "meta.location",
        `${userUrn}:nickName`,
        "profileUrl",
      );
      const value = one(
        String(user.userName),
        String(user.id),
        String(user.externalId),
        ...words.map((word) => word.toUpperCase()),
        ...((user.emails ?? []) as Values[]).map((email) => String(email.value).toUpperCase()),
        "Group 5",
        "x.example",
      );
      const operator = one("eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le");
      return one(
        `${path} ${operator} ${JSON.stringify(value)}`,
        `${path} ${operator} ${JSON.stringify(value)}`,
        `${path} pr`,
        `active ${one("eq", "ne")} ${one("True", "false")}`,
        `emails[type eq "${one(...types)}" and not (primary eq true)]`,
        `emails[type eq "work"].value ${operator} ${JSON.stringify(value)}`,
        `meta.created ${one("eq", "ne", "gt", "ge", "lt", "le")} "${(user.meta as Values).created as string}"`,
        `title eq null`,
      );
    }

    it("understand every spelling", async () => {
      const { id: _, meta: _meta, ...given } = sample;
      const { body } = await scim.post("/Users", newScimUser(given));
      for (const [filter, isFound] of spellings) {
        const both = encodeURIComponent(`id eq "${body.id}" and (${filter})`);
        const found = await scim.get(`/Users?filter=${both}`);
        expect(found.body.totalResults, `${filter}: ${JSON.stringify(found.body)}`).to.equal(isFound ? 1 : 0);
      }
      await scim.delete(`/Users/${body.id}`);
    });

    it("find what an evaluation in memory finds", async () => {
      const dice = seeded(3);
      for (let n = 0; n < 300; n++) {
        const filter = anyFilter(dice, 3);
        const { status, body } = await scim.get(`/Users?count=1000&filter=${encodeURIComponent(filter)}`);
        expect(status, `${filter}: ${JSON.stringify(body)}`).to.equal(200);
        const parsed = parseFilter(userType, filter);
        const wanted = users.filter((user) => matches(parsed, user)).map(({ id }) => id);
        expect(
          body.Resources.map(({ id }: Values) => id),
          filter,
        ).to.deep.equal(wanted);
        expect(body.totalResults, filter).to.equal(wanted.length);
        const counted = await scim.get(`/Users?count=0&filter=${encodeURIComponent(filter)}`);
        expect(counted.body.totalResults, filter).to.equal(wanted.length);
      }
    });
  });

  it("understand every spelling", () => {
    for (const [filter, isFound] of spellings)
      expect(matches(parseFilter(userType, filter), sample), filter).to.equal(isFound);
    expect(matches(parseFilter(userType, `${enterpriseUrn}:department pr`), { userName: "a" })).to.equal(false);
  });

  it("reject unknown attributes, wrong types, and other faults of form, and say which", () => {
    const faults: Record<string, string> = {
      "": "The text ends too early.",
      " ": "The text ends too early.",
      userName: "The text ends too early.",
      "(userName pr": "The text ends too early.",
      "not (": "The text ends too early.",
      'emails[type eq "x"': "The text ends too early.",
      'userName eq "a" and': "The text ends too early.",
      'emails[type eq "x"].value': "The text ends too early.",
      "userName eq": "The operator eq needs a value.",
      "userName eq )": "The operator eq needs a value.",
      "title gt null": "The operator gt needs a value.",
      'userName xx "a"': 'Unexpected "xx".',
      "userName pr)": 'Unexpected ")".',
      "userName pr (": 'Unexpected "(".',
      "title pr null": 'Unexpected "null".',
      "title pr title pr": 'Unexpected "title".',
      "()": 'Unexpected ")".',
      "[": 'Unexpected "[".',
      '"(" title pr)': 'Unexpected "(".',
      'title pr "and" title pr': 'Unexpected "and".',
      'emails[type eq "x"]".value" pr': 'Unexpected ".value".',
      '"a" eq "b"': 'Unexpected "a".',
      'emails[type eq "x"] x': 'Unexpected "x".',
      'emails[type eq "x"]value pr': 'Unexpected "value".',
      'emails[type eq "x")': 'Unexpected ")".',
      "(title pr]": 'Unexpected "]".',
      "nothing eq 1": 'There is no attribute "nothing".',
      and: 'There is no attribute "and".',
      "not userName pr": 'There is no attribute "not".',
      "emails[nothing eq 1]": 'There is no attribute "nothing".',
      "emails[type pr] and type pr": 'There is no attribute "type".',
      "userName.first pr": 'There is no attribute "userName.first".',
      "a.b.c pr": 'There is no attribute "a.b.c".',
      "name.givenName.x pr": 'There is no attribute "name.givenName.x".',
      "urn:none:userName pr": 'There is no attribute "urn:none:userName".',
      [`${userUrn}userName pr`]: `There is no attribute "${userUrn}userName".`,
      [`${enterpriseUrn}:id pr`]: `There is no attribute "${enterpriseUrn}:id".`,
      'emails[type eq "x"].nothing pr': 'The attribute emails has no "nothing".',
      'emails[type eq "x"].value.x pr': 'The attribute emails has no "value.x".',
      "emails.type[value pr]": "The attribute emails has no values to choose from.",
      "schemas[value pr]": "The attribute schemas has no values to choose from.",
      "name[givenName pr]": "The attribute name has no values to choose from.",
      'password eq "x"': "The attribute password cannot be compared.",
      'name eq "x"': "The attribute name has no value to compare.",
      "active gt true": "The operator gt does not apply to the attribute active.",
      'active co "t"': "The operator co does not apply to the attribute active.",
      'x509Certificates.value gt "a"': "The operator gt does not apply to the attribute value.",
      'meta.created co "2"': "The operator co does not apply to the attribute created.",
      'meta.created sw "2"': "The operator sw does not apply to the attribute created.",
      'meta.created ew "2"': "The operator ew does not apply to the attribute created.",
      "active eq 1": "The attribute active is true or false.",
      "active eq untrue": "The attribute active is true or false.",
      "active eq falsely": "The attribute active is true or false.",
      'meta.created gt "yesterday"': "The attribute created is a time in RFC 3339 form.",
      'userName eq "a': "The text is not valid from position 11 on.",
      'userName eq "\\x"': String.raw`The string "\"\\x\"" is not a JSON string.`,
      'userName eq "\\u0000"': String.raw`The string "\"\\u0000\"": Must be valid Unicode without NUL characters.`,
      'userName eq "a\0"': "A filter must be valid Unicode without NUL characters.",
    };
    for (const [filter, detail] of Object.entries(faults))
      expect(() => parseFilter(userType, filter), filter)
        .to.throw()
        .with.property("details")
        .that.deep.includes({ detail, scimType: "invalidFilter" });
    for (const name of ["__proto__", "prototype", "constructor", "emails.__proto__", "emails[constructor pr]"])
      expect(() => parseFilter(userType, `${name} pr`), name)
        .to.throw()
        .with.property("details")
        .that.deep.includes({
          scimType: "invalidPath",
          detail: `The name "${name.replace(/emails\[(.*) pr\]/, "$1")}" is not allowed.`,
        });
  });

  it("are bounded in length, depth, and comparisons", () => {
    const nested = (depth: number) => "(".repeat(depth) + "title pr" + ")".repeat(depth);
    const wide = (parts: number, part = "title pr") => Array.from({ length: parts }, () => part).join(" or ");
    const long = (bytes: number) => `title eq "${"é".repeat((bytes - 12) / 2)}x"`;
    for (const filter of [nested(32), wide(64), wide(64, "(title pr)"), long(4096)])
      expect(parseFilter(userType, filter)).to.be.an("object");
    const depth = "32 levels";
    const width = "64 comparisons";
    const length = "4096 bytes";
    for (const [filter, limit] of [
      [nested(33), depth],
      ["(".repeat(4000), depth],
      ["not (".repeat(700), depth],
      [wide(65), width],
      ["(".repeat(20_000), length],
      [`${long(4096)} `, length],
    ])
      expect(() => parseFilter(userType, filter!), limit)
        .to.throw()
        .with.property("details")
        .that.deep.includes({
          scimType: "invalidFilter",
          detail: `A filter must ${limit === length ? "be" : "have"} at most ${limit}.`,
        });
  });

  it(`agree with another library on ${tried} random filters and users`, () => {
    const dice = seeded(1);
    const users = Array.from({ length: 20 }, () => randomUser(dice));
    for (let n = 0; n < tried; n++) {
      const filter = randomFilter(dice, 2);
      const parsed = parseFilter(userType, filter);
      const other = new Types.Filter(filter).match(structuredClone(users)) as Values[];
      const names = (all: Values[]) => all.map(({ userName }) => userName);
      expect(names(users.filter((user) => matches(parsed, user))), filter).to.deep.equal(names(other));
    }
  });
});

describe("SCIM changes", () => {
  /** A random operation that both implementations are expected to apply alike. */
  function randomOperation({ one, chance, below }: Dice): Record<string, unknown> {
    const word = one(...words);
    const email = { value: `new${below(1_000_000)}@x.example`, type: one(...types) };
    const type = one(...types);
    return one<Record<string, unknown>>(
      { op: one("add", "replace"), path: one("title", "nickName", "name.givenName", "displayName"), value: word },
      { op: one("add", "replace"), value: { title: word, ...(chance(0.5) && { nickName: word }) } },
      { op: one("add", "replace"), path: "name", value: { familyName: word, givenName: word } },
      { op: "remove", path: one("title", "nickName", "name.familyName", "displayName") },
      { op: "add", path: "emails", value: [email] },
      { op: "replace", path: "emails", value: [email] },
      { op: "remove", path: `emails[type eq "${type}"]` },
      { op: "replace", path: `emails[type eq "${type}"].value`, value: email.value },
      { op: "add", path: `emails[type eq "${type}"].display`, value: word },
    );
  }

  /** Attributes in one form: without empty values, and with sorted keys. */
  const normal = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(normal);
    if (typeof value !== "object" || value === null) return value;
    const kept = Object.entries(value).filter(
      ([, each]) =>
        each !== undefined &&
        !(Array.isArray(each) && each.length === 0) &&
        !(typeof each === "object" && each !== null && Object.keys(each).length === 0),
    );
    return Object.fromEntries(
      kept.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, each]) => [key, normal(each)]),
    );
  };

  it(`agree with another library on ${tried} random changes`, async () => {
    const dice = seeded(4);
    let applied = 0;
    for (let n = 0; n < tried; n++) {
      const user = randomUser(dice);
      const Operations = Array.from({ length: 1 + dice.below(3) }, () => randomOperation(dice));
      const label = JSON.stringify({ user, Operations });
      const message = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations };
      let theirs: unknown;
      try {
        const resource = new Schemas.User(structuredClone({ id: "1", ...user }));
        const result = await new Messages.PatchOp(structuredClone(message) as never).apply(resource as never);
        theirs = JSON.parse(JSON.stringify(result ?? resource));
      } catch (error) {
        theirs = (error as { scimType?: string }).scimType ?? String(error);
      }
      let ours: unknown;
      try {
        ours = applyOperations(user, readOperations(userType, message));
      } catch (error) {
        ours = (error as { details?: { scimType?: string } }).details?.scimType ?? String(error);
      }
      if (typeof theirs === "object") {
        const { schemas: _, id: _id, meta: _meta, ...rest } = theirs as Values;
        theirs = rest;
        applied++;
      }
      // The specification of this service adds a value instead.
      if (theirs === "noTarget") continue;
      expect(normal(ours), label).to.deep.equal(normal(theirs));
    }
    expect(applied).to.be.greaterThan(tried / 2);
  });

  it("never reach a prototype", () => {
    const change = (operation: Record<string, unknown>) => () =>
      applyOperations({ userName: "a" }, readOperations(userType, { Operations: [operation] }));
    for (const operation of [
      { op: "add", path: "constructor.prototype.x", value: 1 },
      { op: "add", path: "__proto__.x", value: 1 },
      { op: "add", path: 'emails[__proto__ eq "x"].value', value: "1" },
      { op: "add", value: JSON.parse('{"__proto__":{"x":1}}') },
      { op: "add", value: { name: JSON.parse('{"__proto__":{"x":1}}') } },
      { op: "add", value: { "constructor.prototype.x": 1 } },
      { op: "add", value: { "urn:ietf:params:scim:schemas:core:2.0:User:__proto__": 1 } },
    ])
      expect(change(operation), JSON.stringify(operation))
        .to.throw()
        .with.nested.property("details.scimType", "invalidPath");
    expect(({} as Record<string, unknown>).x).to.equal(undefined);
  });
});
