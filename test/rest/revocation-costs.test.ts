// What revoking access costs a server whose cache of credentials is full: as much as one whose cache is empty.
// Looks inside: ten thousand requests would fill the cache more slowly than its entries leave it.
import { expect } from "chai";
import { holdersOf, renewAll } from "../support/caches.js";
import { insertKeys } from "../support/keys.js";
import { type Person, world } from "../support/world.js";

describe("the cost of revoking access", () => {
  const the = world();
  /** The clock stands still, so that nothing leaves the cache before it is measured. */
  const standing = performance.now();
  before(() => void (performance.now = () => standing));
  after(() => void Reflect.deleteProperty(performance, "now"));

  it("is at most half as high again with 10,000 sessions in the cache as with none", async () => {
    const w = the();
    const { credentials } = w.app.services;
    const count = 10;
    const rounds = 4;
    const owner = w.as(w.owner);
    const people = await w.users(...Array.from({ length: count }, (_, n) => `person-${n}`));
    const keys = await insertKeys(w, await w.user("maker"), "token", 2 * rounds * count);
    const of = (mutation: string, input: object) =>
      owner.graphql(
        `mutation($input: ${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input!) {
        ${mutation}(input: $input) { __typename } }`,
        { input },
      );
    const works: Record<string, (person: Person) => Promise<unknown>> = {
      logout: async ({ id }) => w.as({ token: await w.session(id) }).graphql("mutation { logout { __typename } }"),
      suspension: ({ id }) => of("suspendUser", { user: id }),
      activation: ({ id }) => of("activateUser", { user: id }),
      "change of roles": async ({ id }) => {
        await of("setUserRoles", { user: id, roles: ["AUDITOR"] });
        await of("setUserRoles", { user: id, roles: [] });
      },
      "deleted key": () => of("revokeApiKey", { id: keys.pop() }),
    };
    /** The least CPU of several rounds of each work. */
    const costs = async (): Promise<Record<string, number>> => {
      const least: Record<string, number> = {};
      for (let round = 0; round < rounds; round++)
        for (const [name, work] of Object.entries(works)) {
          const begun = process.cpuUsage();
          for (const person of people) await work(person);
          const { user, system } = process.cpuUsage(begun);
          least[name] = Math.min(least[name] ?? Infinity, user + system);
        }
      return least;
    };
    const empty = await costs();
    const held = await insertKeys(w, w.owner, "application", 10_000);
    await renewAll(credentials, holdersOf(held, w.owner.id));
    const full = await costs();
    const ratios = Object.fromEntries(Object.keys(works).map((name) => [name, full[name]! / empty[name]!]));
    if (process.env.STEWARD_TEST_TIMES) console.log(ratios);
    for (const [name, ratio] of Object.entries(ratios)) expect(ratio, name).to.be.at.most(1.5);
  });
});
