import { expect } from "chai";
import { code, createUser, fields, findUser, listUsers, suspendUser, updateUser } from "./support/accounts.js";
import { type Person, world } from "./support/world.js";

describe("the list of users", () => {
  const the = world();

  it("shows all users to those who may read them, and to others only themselves", async () => {
    const w = the();
    const [auditor, organizationAdmin, organizationAuditor, plain] = await w.users(
      "auditor",
      "oadmin",
      "oauditor",
      "plain",
    );
    const stranger = await w.user("stranger", [(await w.organization()).id]);
    await w.grant(auditor!, "auditor");
    await w.grant(organizationAdmin!, "organization-admin");
    await w.grant(organizationAuditor!, "organization-auditor");
    const all = [w.owner, auditor!, organizationAdmin!, organizationAuditor!, plain!, stranger]
      .map(({ username }) => username)
      .sort();
    const seenBy = async (person: Person) => {
      const { users } = await w.as(person).graphql(listUsers);
      const names = users.nodes.map(({ username }) => username);
      expect(users.totalCount).to.equal(names.length);
      return names;
    };
    for (const person of [w.owner, auditor!, organizationAdmin!]) expect(await seenBy(person)).to.deep.equal(all);
    expect(await seenBy(organizationAuditor!)).to.deep.equal(all.filter((name) => name !== stranger.username));
    expect(await seenBy(plain!)).to.deep.equal([plain!.username]);
    expect(await code(w.as(plain!), findUser, { user: stranger.id })).to.equal("NOT_FOUND");
    expect(await code(w.as(organizationAuditor!), findUser, { user: stranger.id })).to.equal("NOT_FOUND");
    expect(await code(w.nobody, listUsers)).to.equal("UNAUTHENTICATED");
    expect(await code(w.nobody, "{ me { id } }")).to.equal("UNAUTHENTICATED");
  });

  it("is narrowed by every field of the filter", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const organization = await w.organization();
    const eve = await w.user("eve", [organization.id]);
    const [dan] = await w.users("dan");
    await w.grant(dan!, "template-admin");
    await w.grant(dan!, "organization-user-admin");
    await owner.graphql(updateUser, { input: { user: eve.id, name: "Eve 100% Online" } });
    await owner.graphql(suspendUser, { input: { user: eve.id } });
    const made = { email: "bot@example.com", username: "bot", isServiceAccount: true };
    const bot = (await owner.graphql(createUser, { input: made })).createUser.user;
    const found = async (filter: object) =>
      (await owner.graphql(listUsers, { filter })).users.nodes.map(({ id }: { id: string }) => id);

    expect(await found({ search: "EVE-" })).to.deep.equal([eve.id]);
    expect(await found({ search: "100% on" })).to.deep.equal([eve.id]);
    expect(await found({ search: eve.email })).to.deep.equal([eve.id]);
    expect(await found({ search: "%" })).to.deep.equal([eve.id]);
    expect(await found({ status: "SUSPENDED" })).to.deep.equal([eve.id]);
    expect(await found({ organization: organization.name.toUpperCase() })).to.deep.equal([eve.id]);
    expect(await found({ role: "TEMPLATE_ADMIN" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "MEMBER", search: "dan" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "ORGANIZATION_USER_ADMIN" })).to.deep.equal([dan!.id]);
    expect(await found({ role: "ORGANIZATION_USER_ADMIN", organization: organization.id })).to.deep.equal([]);
    expect(await found({ serviceAccount: true })).to.deep.equal([bot.id]);
    expect(await found({ loginType: "NONE" })).to.deep.equal([bot.id]);
    expect(await found({ createdAfter: "2999-01-01T00:00:00Z" })).to.deep.equal([]);
    expect(await found({ createdBefore: "2000-01-01T00:00:00+02:00" })).to.deep.equal([]);
    expect(await found({ lastSeenBefore: "2000-01-01T00:00:00Z" })).to.deep.equal([]);
    expect(await found({ lastSeenAfter: "2000-01-01T00:00:00Z", search: "bot" })).to.deep.equal([]);
    expect(fields(await owner.failure(listUsers, { filter: { search: "x".repeat(255) }, first: 1001 }))).to.deep.equal([
      "filter.search",
      "first",
    ]);
    expect(await code(owner, listUsers, { filter: { organization: "no-such" } })).to.equal("NOT_FOUND");
  });

  it("is paged", async () => {
    const w = the();
    const names: string[] = [];
    let after: string | undefined;
    do {
      const { users } = await w.as(w.owner).graphql(listUsers, { first: 3, after });
      names.push(...users.nodes.map(({ username }) => username));
      after = users.pageInfo.hasNextPage ? users.pageInfo.endCursor : undefined;
    } while (after);
    const { users } = await w.as(w.owner).graphql(listUsers, { first: 1000 });
    expect(names).to.deep.equal(users.nodes.map(({ username }) => username));
  });
});
