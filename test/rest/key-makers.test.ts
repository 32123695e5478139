// What a key made ends with it if the caller who revokes it wants that, through all generations.
import { expect } from "chai";
import { keysOf } from "../support/accounts.js";
import { type Person, userPassword, world } from "../support/world.js";

const create = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { token apiKey { id } } }`;
const revoke = `mutation($input: RevokeApiKeyInput!) {
  revokeApiKey(input: $input) { endedKeyCount endedGrantCount left { resourceType label } } }`;

describe("what a key made", () => {
  const the = world();
  const make = async (token: string, name: string, more: object = {}) => {
    const { createApiKey } = await the()
      .as({ token })
      .graphql(create, { input: { name, ...more } });
    return { token: createApiKey.token, id: createApiKey.apiKey.id };
  };
  const end = async (by: Pick<Person, "token">, input: object) =>
    (await the().as(by).graphql(revoke, { input })).revokeApiKey;
  const isAlive = async (token: string) =>
    (await the().as({ token }).post("/api/v2/authcheck", { checks: {} })).status === 200;

  it("ends with an API token, through all generations, also of those that ended before", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const leaked = await make(ada!.token, "leaked");
    const child = await make(leaked.token, "child");
    const grandchild = await make(child.token, "grandchild");
    const last = await make(grandchild.token, "last");
    const other = await make(ada!.token, "other");
    // The thief ends the keys in between, so that no link is left.
    await w.as(child).graphql("mutation { logout { apiKeyId } }");
    await w
      .as(ada!)
      .graphql(`mutation { revokeApiKey(input: { id: "${grandchild.id}", withAllItMade: false }) { __typename } }`);
    expect(await isAlive(last.token)).to.equal(true);
    const { apiKeys } = await w.as(ada!).graphql("{ apiKeys(kind: TOKEN) { name madeBy { kind name hasEnded } } }");
    expect(apiKeys).to.deep.equal([
      { name: "other", madeBy: { kind: "SESSION", name: "", hasEnded: false } },
      { name: "last", madeBy: { kind: "TOKEN", name: "grandchild", hasEnded: true } },
      { name: "leaked", madeBy: { kind: "SESSION", name: "", hasEnded: false } },
    ]);

    expect(await end(ada!, { id: leaked.id })).to.deep.equal({ endedKeyCount: 1, endedGrantCount: 0, left: [] });
    expect(await Promise.all([leaked, last, other, ada!].map(({ token }) => isAlive(token)))).to.deep.equal([
      false,
      false,
      true,
      true,
    ]);
  });

  it("outlives a session by default, signing out, and expiry", async () => {
    const w = the();
    const [bob] = await w.users("bob");
    const enter = async () => ({ token: await w.login(bob!.email, userPassword) });
    const second = await enter();
    const third = await enter();
    const fourth = await enter();
    const made: Array<{ token: string }> = [];
    for (const [index, { token }] of [second, third, fourth].entries()) made.push(await make(token, `made-${index}`));
    const keys = await keysOf(w, bob!);
    await end(bob!, { id: keys.find(({ id }) => second.token.includes(id))!.id });
    await w.as(third).graphql("mutation { logout { apiKeyId } }");
    expect(await Promise.all(made.map(({ token }) => isAlive(token)))).to.deep.equal([true, true, true]);
    const session = keys.find(({ id }) => fourth.token.includes(id))!;
    expect((await end(bob!, { id: session.id, withAllItMade: true })).endedKeyCount).to.equal(1);
    expect(await Promise.all(made.map(({ token }) => isAlive(token)))).to.deep.equal([true, true, false]);
  });

  it("is missed by no race: a key that is made while its maker ends, ends or fails", async () => {
    const w = the();
    const [eve] = await w.users("eve");
    for (let round = 0; round < 10; round++) {
      const leaked = await make(eve!.token, `leaked-${round}`);
      const child = await make(leaked.token, `child-${round}`);
      const making = Array.from({ length: 4 }, (_, index) =>
        make(child.token, `grandchild-${round}-${index}`).catch(() => undefined),
      );
      await Promise.all([...making, end(eve!, { id: leaked.id })]);
      const left = (await keysOf(w, eve!, "TOKEN")).map(({ name }) => name);
      expect(left, `round ${round}`).to.deep.equal([]);
    }
  });

  it("is left, and listed, if the caller may not end it, or if it is no key", async () => {
    const w = the();
    const admin = await w.user("admin");
    const robot = "robot";
    await w
      .as(w.owner)
      .graphql(`mutation($user: String!) { setUserRoles(input: { user: $user, roles: [OWNER] }) { __typename } }`, {
        user: admin.id,
      });
    await w
      .as(w.owner)
      .graphql(
        `mutation { createUser(input: { email: "robot@example.com", username: "robot", isServiceAccount: true }) { user { id } } }`,
      );
    const leaked = await make(admin.token, "leaked");
    const ofRobot = await make(leaked.token, "of-robot", { user: robot });
    await w
      .as(leaked)
      .graphql(
        `mutation { createUser(input: { email: "back@example.com", username: "backdoor", loginType: NONE }) { user { id } } }`,
      );
    await w
      .as(leaked)
      .graphql(`mutation { createProvisionerKey(input: { organization: "default", name: "daemons" }) { __typename } }`);
    await w
      .as(w.owner)
      .graphql(`mutation($user: String!) { setUserRoles(input: { user: $user, roles: [] }) { __typename } }`, {
        user: admin.id,
      });
    const { endedKeyCount, left } = await end(admin, { id: leaked.id });
    expect(endedKeyCount).to.equal(0);
    expect(left.map(({ resourceType, label }) => `${resourceType} ${label}`)).to.have.members([
      "api_key of-robot",
      "user backdoor",
      "provisioner_key daemons",
    ]);
    expect(await isAlive(ofRobot.token)).to.equal(true);
    expect((await end(w.owner, { id: ofRobot.id })).left).to.deep.equal([]);
    expect(await isAlive(ofRobot.token)).to.equal(false);
  });
});
