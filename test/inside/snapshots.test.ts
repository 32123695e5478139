// How long a replica accepts an expired credential when it misses all hints.
// Looks inside: a replica that misses all hints is simulated.
import { expect } from "chai";
import type { Actor, UserActor } from "../../src/domain/kernel/actor.js";
import { LabeledCounter } from "../../src/runtime/labeled-counter.js";
import type { Events } from "../../src/runtime/events.js";
import { Credentials } from "../../src/domain/tokens/credentials.js";
import { Recent } from "../../src/domain/tokens/recent.js";
import { at, standing, withClock } from "../support/clock.js";
import { eventually } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

/** An event bus that loses every hint without noticing. */
const lossy: Events = {
  start: async () => {},
  isConnected: true,
  publish: () => {},
  subscribe: () => ({ close: () => {} }),
  subscribeAll: () => ({ close: () => {} }),
  subscriptions: 0,
  gaps: new LabeledCounter("reason"),
  close: async () => {},
};

describe("auth snapshots on a replica that loses all hints", () => {
  const the = world();
  let replica: Credentials;
  before(() => {
    const { config, database, log } = the().app.services;
    replica = new Credentials({ config, database, events: lossy, log });
  });
  after(() => replica.close());

  /** The actor that the replica sees for a token, or the reason why it is rejected. */
  const actorAt = async (milliseconds: number, token: string): Promise<Actor | string> => {
    try {
      return await at(milliseconds, () => replica.authenticate(token));
    } catch (error) {
      return (error as { details: { detail: string } }).details.detail;
    }
  };
  const sql = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  const act = (mutation: string, variables: Record<string, unknown>) =>
    the().as(the().owner).graphql(mutation, variables);

  /** Caches a snapshot, applies a change, and returns the actor after one second, when the snapshot expires. */
  const change = (token: string, apply: () => Promise<unknown>) =>
    standing(async () => {
      const before = await actorAt(0, token);
      expect(before).to.be.an("object");
      await apply();
      expect(await actorAt(999, token), "still cached").to.equal(before);
      return actorAt(1_000, token);
    });

  const endings: Array<[name: string, end: (person: Person) => Promise<unknown>, detail: string]> = [
    [
      "a revoked session",
      ({ token }) => the().as({ token }).graphql("mutation { logout { __typename } }"),
      "The token is not valid.",
    ],
    [
      "a suspended user",
      ({ id }) => sql("update users set status = 'suspended' where id = $1", id),
      "The account is suspended.",
    ],
    [
      "a deleted user",
      ({ id }) => act("mutation($id: String!) { deleteUser(input: { user: $id }) { __typename } }", { id }),
      "The token is not valid.",
    ],
  ];
  for (const [name, end, detail] of endings) {
    it(`reject ${name} after one second`, async () => {
      const ada = await the().user("ada");
      expect(await change(ada.token, () => end(ada))).to.equal(detail);
    });
  }

  it("show changed site and organization roles after one second", async () => {
    const [ada, bob] = await the().users("ada", "bob");
    const withSiteRole = await change(ada!.token, () => the().grant(ada!, "user-admin"));
    expect((withSiteRole as UserActor).siteRoles).to.deep.equal(["user-admin"]);
    const withRole = await change(bob!.token, () => the().grant(bob!, "organization-admin"));
    expect((withRole as UserActor).organizations.get(the().defaultOrganization)).to.deep.equal(["organization-admin"]);
  });

  it("reject an agent whose token has ended after one second", async () => {
    const { agent } = await the().workspace(the().owner);
    const end = () => sql("update workspace_agents set token_ended_at = now() where id = $1", agent.id);
    expect(await change(agent.token, end)).to.equal("The token is not valid.");
  });
});

describe("recently read values", () => {
  const tagsOf = (value: { tag?: string }) => (value.tag === undefined ? [] : [value.tag]);

  /** Reads that resolve when the test says so. */
  const slowReads = () => {
    const finish: Array<(value: object) => void> = [];
    return { finish, values: new Recent<object>(() => new Promise((resolve) => finish.push(resolve)), tagsOf) };
  };

  it("expire one second after their read started, not after it ended", async () => {
    const { finish, values } = slowReads();
    const reading = at(0, () => values.read("key"));
    at(900, () => finish[0]!({}));
    const value = await reading;
    expect(at(999, () => values.at("key"))).to.equal(value);
    expect(at(1_000, () => values.at("key"))).to.equal(undefined);
  });

  for (const [what, drop] of [
    ["a hint", (values: Recent<object>) => values.drop("ada")],
    ["a gap in the hints", (values: Recent<object>) => values.clear()],
  ] as const) {
    it(`are read again when ${what} arrived during the read`, async () => {
      const { finish, values } = slowReads();
      const older = values.read("key");
      drop(values);
      const newer = values.read("key");
      const fresh = { tag: "ada" };
      finish[1]!(fresh);
      await newer;
      finish[0]!({ tag: "ada" });
      await older;
      expect(values.at("key")).to.equal(fresh);
    });
  }

  it("are not kept if what they depend on changed during the read, but if something else did", async () => {
    const { finish, values } = slowReads();
    const reading = ["hers", "his"].map((key) => values.read(key));
    for (const tag of ["carl", "ada", "dora"]) values.drop(tag);
    const hers = { tag: "ada" };
    const his = { tag: "bob" };
    finish[0]!(hers);
    finish[1]!(his);
    await Promise.all(reading);
    expect(["hers", "his"].map((key) => values.at(key))).to.deep.equal([undefined, his]);
  });

  it("leave when they end", async () => {
    const values = new Recent<object>(async () => ({ tag: "ada" }), tagsOf);
    const keys = Array.from({ length: 100 }, (_, n) => `key ${n}`);
    await withClock(async (pass) => {
      await Promise.all(keys.map((key) => values.read(key)));
      pass(999);
      for (const key of keys) expect(values.at(key), key).to.deep.equal({ tag: "ada" });
      expect(values.size).to.equal(100);
      pass(1);
      for (const key of keys) expect(values.at(key), key).to.equal(undefined);
      await eventually(() => values.size === 0, "all have left");
    });
  });

  it("are at most as many as their limit, the oldest of which leave", async () => {
    const values = new Recent<object>(async (key) => ({ tag: key }), tagsOf, 2);
    for (const key of ["a", "b", "c"]) await values.read(key);
    expect(["a", "b", "c"].map((key) => values.at(key))).to.deep.equal([undefined, { tag: "b" }, { tag: "c" }]);
  });
});
