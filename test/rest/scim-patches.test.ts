// SCIM changes by operations: against a simple model, and where they name no value or what is not there.
import { expect } from "chai";
import { Random } from "../support/random.js";
import { newScimUser, type ScimClient, scimClient } from "../support/scim.js";
import { type Answer, world } from "../support/world.js";

type Operation = Record<string, unknown>;
type Entry = Record<string, unknown>;

const sequences = 200;

describe("SCIM changes of members", () => {
  const w = world();
  let scim: ScimClient;
  /** All users, by id, with what groups show of them. */
  const users = new Map<string, string>();
  let path: string;
  before(async () => {
    scim = await scimClient(w());
    for (const [n, name] of ["Ada", "Adam", "Bob", "Bea", "Carl", "Dora", "Ada"].entries()) {
      const { body } = await scim.post("/Users", newScimUser({ userName: `m${n}`, name: { formatted: name } }));
      users.set(body.id, name);
    }
    path = `/Groups/${(await scim.post("/Groups", { displayName: "Changed" })).body.id}`;
  });

  const read = async () => {
    const { body } = await scim.get(path);
    const members = (body.members ?? []) as Array<{ value: string }>;
    return { ids: members.map(({ value }) => value), version: body.meta.version as string };
  };

  /** A filter of members, and whom it selects. */
  function filterOf(random: Random): { filter: string; selects: (id: string) => boolean } {
    const id = random.one([...users.keys()]);
    const other = random.one([...users.keys()]);
    const part = random.one(["Ad", "b", "A", "Carl", "x"]);
    const shown = (each: string) => users.get(each)!.toLowerCase();
    const simple: Array<[string, (each: string) => boolean]> = [
      [`value eq "${id}"`, (each) => each === id],
      [`value ne "${id}"`, (each) => each !== id],
      [`$ref ew "/${id}"`, (each) => each === id],
      [`display eq "${users.get(id)!.toUpperCase()}"`, (each) => shown(each) === shown(id)],
      [`display co "${part}"`, (each) => shown(each).includes(part.toLowerCase())],
      ['type eq "User"', () => true],
      [`value eq "${id}" or value eq "${other}"`, (each) => each === id || each === other],
    ];
    const [filter, selects] = random.one(simple);
    return random.chance(0.2) ? { filter: `not (${filter})`, selects: (each) => !selects(each) } : { filter, selects };
  }

  /** A random operation, and what it does to the members. */
  function randomStep(random: Random): {
    operation: Operation;
    effect: (members: ReadonlySet<string>) => Set<string>;
  } {
    const ids = random.some([...users.keys()]);
    const values = ids.map((value) => (random.chance(0.2) ? value : { value, display: "ignored", $ref: "ignored" }));
    const value = values.length === 1 && random.chance(0.5) ? values[0] : values;
    const { filter, selects } = filterOf(random);
    const without = (members: ReadonlySet<string>, isGone: (id: string) => boolean) =>
      new Set([...members].filter((id) => !isGone(id)));
    const effects: Record<string, (members: ReadonlySet<string>) => Set<string>> = {
      add: (members) => new Set([...members, ...ids]),
      replace: () => new Set(ids),
      remove: (members) => without(members, (id) => ids.includes(id)),
    };
    if (random.chance(0.4))
      return { operation: { op: "remove", path: `members[${filter}]` }, effect: (all) => without(all, selects) };
    if (random.chance(0.1)) return { operation: { op: "remove", path: "members" }, effect: () => new Set() };
    const op = random.one(["add", "remove", "remove", "replace"]);
    const isPathless = op !== "remove" && random.chance(0.3);
    const operation = isPathless ? { op, value: { members: value } } : { op, path: "members", value };
    return { operation, effect: effects[op]! };
  }

  it(`leave whom the operations in their order leave, in ${sequences} random changes`, async () => {
    const random = new Random(30, []);
    let members = new Set<string>();
    let version = (await read()).version;
    for (let n = 0; n < sequences; n++) {
      const steps = Array.from({ length: 1 + random.below(5) }, () => randomStep(random));
      const operations = steps.map(({ operation }) => operation);
      const label = `change ${n}: ${JSON.stringify(operations)} of ${[...members].join()}`;
      const { status, body } = await scim.change(path, ...operations);
      expect(status, `${label}: ${JSON.stringify(body)}`).to.equal(204);
      const after = steps.reduce((all, { effect }) => effect(all), members);
      const now = await read();
      expect(now.ids, label).to.have.members([...after]);
      const isSame = after.size === members.size && [...after].every((id) => members.has(id));
      expect(now.version === version, `${label}: the version stays`).to.equal(isSame);
      members = after;
      version = now.version;
    }
  });

  it("remove those who are named, and no others", async () => {
    const [first = "", second = ""] = users.keys();
    await scim.change(path, { op: "replace", path: "members", value: [{ value: first }, { value: second }] });
    const before = await read();
    for (const value of [
      [],
      "",
      [[]],
      [{}],
      [null],
      [""],
      {},
      [{ display: "Ada" }],
      { display: "Ada" },
      [{ $ref: "x" }],
    ]) {
      const { status } = await scim.change(path, { op: "remove", path: "members", value }); // oxfmt-ignore
      const names = Array.isArray(value) ? value.length > 0 : value !== "";
      expect(status, JSON.stringify(value)).to.equal(names ? 400 : 204);
      expect(await read(), JSON.stringify(value)).to.deep.equal(before);
    }
    await scim.change(path, { op: "remove", path: "members", value: [{ value: first.toUpperCase() }] });
    expect((await read()).ids).to.deep.equal([second]);
    await scim.change(path, { op: "remove", path: "members" });
    expect((await read()).ids).to.deep.equal([]);
  });

  it("name each member by its value", async () => {
    const [first = ""] = users.keys();
    await scim.change(path, { op: "replace", path: "members", value: [{ value: first }] });
    const before = await read();
    for (const members of [[{}], [null], [""], {}, [{ display: "Ada" }], [{ value: null }], [{ value: first }, {}]]) {
      const label = JSON.stringify(members);
      const answers: Answer[] = [
        await scim.change(path, { op: "add", path: "members", value: members }),
        await scim.change(path, { op: "replace", path: "members", value: members }),
        await scim.change(path, { op: "replace", value: { members } }),
        await scim.put(path, { displayName: "Changed", members }),
        await scim.post("/Groups", { displayName: `New ${label}`, members }),
      ];
      for (const { status, body } of answers)
        expect([status, body.scimType], label).to.deep.equal([400, "invalidValue"]);
      expect(await read(), label).to.deep.equal(before);
    }
  });
});

describe("SCIM changes of users", () => {
  const w = world();
  let scim: ScimClient;
  let path: string;
  before(async () => {
    scim = await scimClient(w());
  });
  beforeEach(async () => {
    path = `/Users/${(await scim.post("/Users", newScimUser())).body.id}`;
  });

  const types = ["work", "home", "other"];

  /** A random filter of entries, what it selects, and the entry that it describes by itself. */
  function filterOf(random: Random): { filter: string; selects: (entry: Entry) => boolean; described?: Entry } {
    const type = random.one(types);
    const part = random.one(["a1", "a", "B", "9"]);
    const holds = (entry: Entry) => typeof entry.value === "string" && entry.value.includes(part.toLowerCase());
    return random.one<ReturnType<typeof filterOf>>([
      { filter: `type eq "${type}"`, selects: (entry) => entry.type === type, described: { type } },
      { filter: `value co "${part}"`, selects: holds },
      { filter: "primary eq true", selects: (entry) => entry.primary === true },
      {
        filter: `type eq "${type}" and value co "${part}"`,
        selects: (entry) => entry.type === type && holds(entry),
        described: { type },
      },
      { filter: `not (type eq "${type}")`, selects: (entry) => entry.type !== type },
    ]);
  }

  /** Leaves `primary` only to one of the entries. */
  const primaryOf = (entries: Entry[], chosen: Entry | undefined): Entry[] =>
    chosen
      ? entries.map((entry) => (entry !== chosen && entry.primary === true ? { ...entry, primary: false } : entry))
      : entries;

  const isSame = (one: Entry, other: Entry) => ["value", "type", "primary"].every((name) => one[name] === other[name]);

  /** A random operation, and what it makes of the entries: nothing where it is rejected. */
  function randomStep(random: Random): { operation: Operation; effect: (entries: Entry[]) => Entry[] | undefined } {
    const made = (): Entry => ({
      value: `${random.one(["a", "b", "c"])}${random.below(10)}@x.example`,
      type: random.one(types),
      ...(random.chance(0.3) && { primary: true }),
    });
    const op = random.one(["add", "replace", "remove"]);
    const list = random.chance(0.7) ? [made()] : [made(), made()];
    const { filter, selects, described } = filterOf(random);
    if (random.chance(0.3)) {
      if (op === "replace")
        return {
          operation: { op, path: "emails", value: list },
          effect: () =>
            primaryOf(
              list,
              list.find(({ primary }) => primary),
            ),
        };
      if (op === "remove") {
        const named = list.map(({ value }) => ({ value }));
        const isNamed = (entry: Entry) => named.some(({ value }) => value === entry.value);
        return {
          operation: { op, path: "emails", value: named },
          effect: (entries) => entries.filter((entry) => !isNamed(entry)),
        };
      }
      const given = primaryOf(list, list.find(({ primary }) => primary)); // oxfmt-ignore
      return {
        operation: { op, path: "emails", value: list },
        effect(entries) {
          const fresh = given.filter((each) => !entries.some((entry) => isSame(entry, each)));
          return primaryOf(
            [...entries, ...fresh],
            fresh.find(({ primary }) => primary),
          );
        },
      };
    }
    if (op === "remove")
      return {
        operation: { op, path: `emails[${filter}]` },
        effect: (entries) => entries.filter((entry) => !selects(entry)),
      };
    const [sub, value] = random.one<[string, unknown]>([
      ["value", made().value],
      ["type", random.one(types)],
      ["primary", true],
    ]);
    return {
      operation: { op, path: `emails[${filter}].${sub}`, value },
      effect(entries) {
        const selected = entries.filter(selects);
        const those = selected.length > 0 ? selected : meantAsWork(filter, entries);
        const touched = new Map(those.map((entry) => [entry, { ...entry, [sub]: value }]));
        const changed = entries.map((entry) => touched.get(entry) ?? entry);
        if (touched.size > 0)
          return primaryOf(
            changed,
            [...touched.values()].findLast(({ primary }) => primary),
          );
        if (op === "replace" && !described) return undefined;
        const entry = { ...equalities(filter), [sub]: value };
        return primaryOf([...entries, entry], sub === "primary" || entry.primary === true ? entry : undefined);
      },
    };
  }

  /** The only or primary address, if no address is one for work, and it is of another type, or of none. */
  const meantAsWork = (filter: string, entries: Entry[]): Entry[] => {
    if (filter !== 'type eq "work"' || entries.some(({ type }) => type === "work")) return [];
    const entry = entries.length === 1 ? entries[0] : entries.find(({ primary }) => primary === true);
    return entry && [undefined, "other"].includes(entry.type as undefined) ? [entry] : [];
  };

  /** The values that a filter implies for an entry that it selects. */
  const equalities = (filter: string): Entry => {
    if (filter === "primary eq true") return { primary: true };
    const type = /^type eq "(\w+)"/.exec(filter)?.[1];
    return type ? { type } : {};
  };

  it(`leave the addresses that the operations in their order leave, in ${sequences} random changes`, async () => {
    const random = new Random(31, []);
    let emails = ((await scim.get(path)).body.emails ?? []) as Entry[];
    let applied = 0;
    let refused = 0;
    for (let n = 0; n < sequences; n++) {
      const steps = Array.from({ length: 1 + random.below(4) }, () => randomStep(random));
      const operations = steps.map(({ operation }) => operation);
      const label = `change ${n}: ${JSON.stringify(operations)} of ${JSON.stringify(emails)}`;
      const after = steps.reduce<Entry[] | undefined>((all, { effect }) => all && effect(all), emails);
      const isValid = after !== undefined && after.length > 0 && after.every(({ value }) => value !== undefined);
      const { status, body } = await scim.change(path, ...operations);
      expect(status, `${label}: ${JSON.stringify(body)}`).to.equal(isValid ? 200 : 400);
      if (isValid) applied++;
      else refused++;
      emails = isValid ? after : emails;
      expect((await scim.get(path)).body.emails, label).to.deep.equal(emails);
    }
    expect(Math.min(applied, refused)).to.be.greaterThan(sequences / 10);
  });

  it("never remove the last email address", async () => {
    const before = (await scim.get(path)).body;
    const { value } = before.emails[0] as { value: string };
    for (const operations of [
      [{ op: "remove", path: "emails" }],
      [{ op: "remove", path: "emails", value: [{ value }] }],
      [{ op: "remove", path: 'emails[type eq "work"]' }],
      [{ op: "remove", path: "emails.value" }],
      [{ op: "remove", path: 'emails[type eq "work"].value' }],
      [{ op: "replace", path: "emails", value: [] }],
      [{ op: "replace", path: "emails", value: null }],
      [{ op: "replace", path: "emails", value: "" }],
      [{ op: "replace", path: "emails", value: [{ type: "work" }] }],
      [{ op: "replace", value: { emails: [] } }],
      [{ op: "add", path: 'emails[type eq "home"].display', value: "Home" }],
      [
        { op: "add", path: "emails", value: [{ value: "second@x.example" }] },
        { op: "remove", path: "emails[value pr]" },
      ],
    ]) {
      const { status, body } = await scim.change(path, ...operations);
      expect([status, body.scimType], JSON.stringify(operations)).to.deep.equal([400, "invalidValue"]);
    }
    expect((await scim.get(path)).body).to.deep.equal(before);
    // A replacement that has none keeps them, in both dialects.
    const contract = await scimClient(w(), {}, "Authorizaiton");
    for (const emails of [undefined, null, []]) {
      expect((await scim.put(path, { ...before, emails })).body.emails).to.deep.equal(before.emails);
      expect(await contract.patch(path, { active: true, userName: null, emails })).to.include({ status: 200 });
      expect((await scim.get(path)).body.emails).to.deep.equal(before.emails);
    }
    expect(await scim.put(path, { ...before, emails: [{ type: "work" }] })).to.include({ status: 400 });
  });

  it("need a value to add or to replace, while null and an empty text clear", async () => {
    await scim.change(path, { op: "add", value: { title: "Countess", phoneNumbers: [{ value: "1", type: "work" }] } });
    const before = (await scim.get(path)).body;
    for (const op of ["add", "replace"])
      for (const at of ["title", "active", "name", "name.givenName", "phoneNumbers", 'phoneNumbers[type eq "work"]', "password",
        'phoneNumbers[type eq "work"].value', "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"]) {
        const { status, body } = await scim.change(path, { op, path: at }); // oxfmt-ignore
        expect([status, body.scimType], `${op} ${at}`).to.deep.equal([400, "invalidValue"]);
      }
    const { body: group } = await scim.post("/Groups", { displayName: "Without value", members: [{ value: path.slice(7) }] });
    for (const op of ["add", "replace"])
      expect(await scim.change(`/Groups/${group.id}`, { op, path: "members" }), op).to.include({ status: 400 });
    expect((await scim.get(path)).body).to.deep.equal({ ...before, groups: (await scim.get(path)).body.groups, meta: (await scim.get(path)).body.meta });
    const cleared = await scim.change(path, { op: "replace", path: "title", value: null }, { op: "replace", path: "phoneNumbers", value: "" });
    expect(cleared.body).to.not.have.any.keys("title", "phoneNumbers");
  }); // oxfmt-ignore

  it("remove the values that are named, by any of their parts, and no others", async () => {
    const addresses = [{ locality: "London", type: "work" }, { locality: "Turin", type: "home" }];
    const phoneNumbers = [{ value: "1", type: "work" }, { type: "home", display: "none" }]; // oxfmt-ignore
    await scim.change(path, { op: "add", value: { addresses, phoneNumbers } });
    const remove = async (at: string, value: unknown) => (await scim.change(path, { op: "remove", path: at, value })).body;
    expect((await remove("addresses", [{ locality: "Paris" }])).addresses).to.deep.equal(addresses);
    expect((await remove("addresses", [{ locality: "London" }])).addresses).to.deep.equal([addresses[1]]);
    expect((await remove("phoneNumbers", [{ value: "2" }])).phoneNumbers).to.deep.equal(phoneNumbers);
    expect((await remove("phoneNumbers", [])).phoneNumbers).to.deep.equal(phoneNumbers);
    expect((await remove("phoneNumbers", [{ type: "work" }])).phoneNumbers).to.deep.equal([phoneNumbers[1]]);
  }); // oxfmt-ignore
});

describe("SCIM users who are deleted", () => {
  const w = world();
  let scim: ScimClient;
  let other: ScimClient;
  before(async () => {
    scim = await scimClient(w());
    other = await scimClient(w(), { source: "other" });
  });
  const owner = () => w().as(w().owner);
  const inGroup = async (group: string) =>
    (await owner().get(`/api/v2/groups/${group}`)).body.members.map(({ id }: { id: string }) => id) as string[];

  it("leave their groups, are no new members, and come back without memberships made meanwhile", async () => {
    const user = newScimUser();
    const { id } = (await scim.post("/Users", user)).body as { id: string };
    const { body: stays } = await scim.post("/Users", newScimUser());
    const both = [{ value: id }, { value: stays.id }];
    const { body: group } = await scim.post("/Groups", { displayName: "Left", members: both });
    const made = await w().group(undefined, { members: [{ id }] });
    const path = `/Groups/${group.id}`;
    // Managed by another source as well, which goes on seeing it.
    await other.change(`/Users/${id}`, { op: "add", value: { externalId: `other-${id}` } });
    const members = async (client = scim) =>
      ((await client.get(path)).body.members ?? []).map(({ value }: { value: string }) => value) as string[];
    const { version } = (await scim.get(path)).body.meta;

    expect(await scim.delete(`/Users/${id}`)).to.include({ status: 204 });
    expect(await members()).to.deep.equal([stays.id]);
    expect((await scim.get(path)).body.meta.version).to.not.equal(version);
    for (const each of [group.id, made.id]) expect(await inGroup(each)).to.not.include(id);
    const value = [{ value: id }];
    for (const answer of [
      await scim.change(path, { op: "add", path: "members", value }),
      await scim.change(path, { op: "add", path: `members[value eq "${id}"]`, value: {} }),
      await scim.put(path, { displayName: "Left", members: both }),
      await scim.post("/Groups", { displayName: "Right", members: value }),
    ])
      expect([answer.status, answer.body.scimType]).to.deep.equal([400, "invalidValue"]);
    expect((await scim.find("/Groups", 'displayName eq "Right"')).body).to.include({ totalResults: 0 });

    // An administrator, and another source that still sees the user, make it a member.
    await owner().patch(`/api/v2/groups/${made.id}`, { add_users: [id] });
    expect(await other.change(path, { op: "add", path: "members", value })).to.include({ status: 204 });
    expect(await members(other)).to.have.members([id, stays.id]);
    expect(await members()).to.deep.equal([stays.id]);
    expect((await scim.find("/Groups", `members.value eq "${id}"`)).body).to.include({ totalResults: 0 });
    expect((await other.find("/Groups", `members.value eq "${id}"`)).body).to.include({ totalResults: 2 });
    const revived = await scim.post("/Users", user);
    expect(revived).to.include({ status: 201 });
    expect(revived.body).to.include({ id }).and.not.have.property("groups");
    expect((await scim.get(`/Users/${id}`)).body).to.deep.equal(revived.body);
    expect(await members()).to.deep.equal([stays.id]);
    for (const each of [group.id, made.id]) expect(await inGroup(each)).to.not.include(id);
    expect(await scim.change(path, { op: "add", path: "members", value })).to.include({ status: 204 });
    expect(await members()).to.have.members([id, stays.id]);
  });

  it("leave only the groups that the key sees, which the audit log records", async () => {
    const elsewhere = await w().organization();
    const user = await w().user("twice", [w().defaultOrganization, elsewhere.id]);
    const here = await w().group(undefined, { members: [user] });
    const there = await w().group(undefined, { members: [user], organization: elsewhere.id });
    const both = await scimClient(w(), { source: "both", organizationIds: [w().defaultOrganization, elsewhere.id] });
    expect(await scim.delete(`/Users/${user.id}`)).to.include({ status: 204 });
    expect(await inGroup(here.id)).to.deep.equal([]);
    expect(await inGroup(there.id)).to.deep.equal([user.id]);
    expect(await both.delete(`/Users/${user.id}`)).to.include({ status: 204 });
    expect(await inGroup(there.id)).to.deep.equal([]);
    const { auditEvents } = await owner().graphql(
      `query($filter: AuditEventFilter) { auditEvents(filter: $filter) { nodes { action actorKind diff } } }`,
      { filter: { resourceType: "group", resourceId: there.id } },
    );
    const left = { members: { old: [user.id], new: [] } };
    expect(auditEvents.nodes[0]).to.deep.include({ action: "UPDATE", actorKind: "scim_key" });
    expect(auditEvents.nodes[0]!.diff).to.deep.include(left);
  });
});
