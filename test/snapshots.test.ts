// How long a credential counts on a replica that hears nothing of its end.
import { expect } from "chai";
import type { Actor } from "../src/context.js";
import type { Events } from "../src/domain/events.js";
import { Credentials } from "../src/domain/tokens/credentials.js";
import { Recent } from "../src/domain/tokens/recent.js";
import { type Person, world } from "./support/world.js";

/** A bus that loses every hint, and does not notice. */
const deaf: Events = {
  publish: () => {},
  subscribe: () => ({ close: () => {} }),
  subscribeAll: () => ({ close: () => {} }),
  subscriptions: 0,
  close: async () => {},
};

const start = performance.now();

/** Calls `work` at so many milliseconds after the start; what it does later has the real time. */
function at<Result>(milliseconds: number, work: () => Result): Result {
  performance.now = () => start + milliseconds;
  try {
    return work();
  } finally {
    Reflect.deleteProperty(performance, "now");
  }
}

describe("auth snapshots on a replica that loses all hints", () => {
  const the = world();
  let replica: Credentials;
  before(() => {
    const { config, database, log } = the().app.services;
    replica = new Credentials({ config, database, events: deaf, log });
  });
  after(() => replica.close());

  /** The replica's view of a token, or the reason why it is rejected. */
  const actorAt = async (milliseconds: number, token: string): Promise<Actor | string> => {
    try {
      return await at(milliseconds, () => replica.authenticate(token));
    } catch (error) {
      return (error as { facts: { detail: string } }).facts.detail;
    }
  };
  const sql = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  const act = (mutation: string, variables: Record<string, unknown>) =>
    the().as(the().owner).graphql(mutation, variables);

  /** Reads the snapshot, changes what it shows, and returns the views just before and at the end of its second. */
  const change = async (token: string, apply: () => Promise<unknown>) => {
    const before = await actorAt(0, token);
    expect(before).to.be.an("object");
    await apply();
    expect(await actorAt(999, token), "still cached").to.equal(before);
    return actorAt(1_000, token);
  };

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
    expect((withSiteRole as Actor).siteRoles).to.deep.equal(["user-admin"]);
    const withRole = await change(bob!.token, () => the().grant(bob!, "organization-admin"));
    expect((withRole as Actor).organizations.get(the().defaultOrganization)).to.deep.equal(["organization-admin"]);
  });

  it("reject an agent whose token ended after one second", async () => {
    const { agent } = await the().workspace(the().owner);
    const end = () => sql("update workspace_agents set token_ended_at = now() where id = $1", agent.id);
    expect(await change(agent.token, end)).to.equal("The token is not valid.");
  });

  it("count from when a read began, not from when it ended", async () => {
    const finish: Array<(value: object) => void> = [];
    const values = new Recent<object>(() => new Promise((resolve) => finish.push(resolve)));
    const slow = at(0, () => values.read("key"));
    at(900, () => finish[0]!({}));
    const value = await slow;
    expect(at(999, () => values.at("key"))).to.equal(value);
    expect(at(1_000, () => values.at("key"))).to.equal(undefined);
  });
});
