// SCIM filters and changes against other evaluations: in memory, in SQL, and by an independent library.
// Looks inside: the parsers of filters and paths are compared with an independent library.
import { expect } from "chai";
import { Messages, Schemas, Types } from "scimmy";
import { changed } from "../src/domain/scim/apply-operations.js";
import { matches, type Values } from "../src/domain/scim/evaluate.js";
import { parseFilter } from "../src/domain/scim/filter.js";
import { readOperations } from "../src/domain/scim/operations.js";
import { userType, userUrn } from "../src/domain/scim/schema.js";
import { newScimUser, type ScimClient, scimClient } from "./support/scim.js";
import { world } from "./support/world.js";

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

const tried = 5_000;

describe("SCIM filters", () => {
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

  it("reject unknown attributes, wrong types, and other faults of form", () => {
    for (const filter of [
      "",
      " ",
      "userName",
      "userName eq",
      'userName xx "a"',
      "nothing eq 1",
      'userName eq "a',
      "(userName pr",
      "userName pr)",
      "active gt true",
      "active eq 1",
      'active co "t"',
      'meta.created gt "yesterday"',
      'meta.created co "2"',
      'name eq "x"',
      "emails[nothing eq 1]",
      'emails[type eq "x"',
      "userName[type pr]",
      "title gt null",
      'password eq "x"',
      "schemas[value pr]",
      'x509Certificates.value gt "a"',
      'userName eq "a" and',
      "and",
      "not userName pr",
      'userName eq "\\x"',
      "userName.first pr",
      "a.b.c pr",
      "urn:none:userName pr",
      'userName eq "a\0"',
    ])
      // oxfmt-ignore
      expect(() => parseFilter(userType, filter), filter).to.throw().with.nested.property("details.scimType", "invalidFilter");
    for (const name of ["__proto__", "constructor.prototype", "emails[__proto__ pr]"])
      expect(() => parseFilter(userType, `${name} pr`), name)
        .to.throw()
        .with.nested.property("details.scimType", "invalidPath");
  });

  it("are bounded in length, depth, and comparisons", () => {
    const nested = (depth: number) => "(".repeat(depth) + "title pr" + ")".repeat(depth);
    const wide = (parts: number) => Array.from({ length: parts }, () => "title pr").join(" or ");
    for (const filter of [nested(32), wide(64)]) expect(parseFilter(userType, filter)).to.be.an("object");
    for (const filter of [
      nested(33),
      wide(65),
      "(".repeat(20_000),
      "not (".repeat(700),
      `title eq "${"x".repeat(5_000)}"`,
    ])
      expect(() => parseFilter(userType, filter))
        .to.throw()
        .with.nested.property("details.scimType", "invalidFilter");
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
        ours = changed(user, readOperations(userType, message));
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
      changed({ userName: "a" }, readOperations(userType, { Operations: [operation] }));
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
