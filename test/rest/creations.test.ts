// Many users who are created, changed, and deleted at a time in one organization: they wait for no row of each other, and
// what is counted and reported about them is exact. `test/rest/creations-crash.test.ts` kills servers in the middle.
import { expect } from "chai";
import { faultsOf, waitsDuring } from "../support/creations.js";
import { intervalOf, runJob } from "../support/background.js";
import { newScimUser, type ScimClient, scimClient } from "../support/scim.js";
import { eventually } from "../support/watchers.js";
import { repeats } from "../support/repeats.js";
import { type Person, world } from "../support/world.js";

const accountCreated = "4e19c0ac-94e1-4532-9515-d1801aa283b2";
const accountDeleted = "f44d9314-ad03-4bc8-95d0-5cad491da6b6";
const none = { organizations: [], users: undefined, notices: [], inboxes: [], waiting: 0 };

/** Runs `each` with the numbers below a count, so many at a time. */
async function atATime(most: number, count: number, each: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < count; n = next++) await each(n);
  };
  await Promise.all(Array.from({ length: most }, worker));
}

const newAccount = (n: number) => ({ username: `account-${n}`, email: `account-${n}@example.com` });

describe("concurrent creations of users in an organization", () => {
  // As many transactions as requests.
  const the = world({ STEWARD_DATABASE_POOL: "48" });
  let scim: ScimClient;
  let admin: Person;
  before(async () => {
    const w = the();
    scim = await scimClient(w);
    admin = await w.user("uma");
    await w.grant(admin, "user-admin");
  });

  /** The usernames in notices of a template in the inbox of a person, newest first. */
  const toldTo = async (person: Person, template: string): Promise<string[]> => {
    const { inboxNotifications } = await the().as(person).graphql(`{ inboxNotifications(
      first: 1000, filter: { templates: ["${template}"] }) { nodes { title } } }`);
    return inboxNotifications.nodes.map(({ title }: { title: string }) => title);
  };

  it("do not wait for locks: on average at most one of 20 does, with two administrators who are told", async () => {
    const { owner, database } = the();
    // Those of the first ones load code and plan statements.
    await atATime(20, 40, () => scim.post("/Users", newScimUser()));
    const waits = await waitsDuring(database.url, () =>
      atATime(20, repeats(80, 300), async (n) => {
        if (n % 2 === 0) {
          const created = await the()
            .as(owner)
            .post("/graphql", {
              query: "mutation($input: CreateUserInput!) { createUser(input: $input) { __typename } }",
              variables: { input: { ...newAccount(n), isServiceAccount: true } },
            });
          expect(created.body.errors).to.equal(undefined);
          return;
        }
        const { status, body } = await scim.post("/Users", newScimUser());
        expect(status).to.equal(201);
        const patched = await scim.change(`/Users/${body.id}`, { op: "replace", path: "displayName", value: `N ${n}` });
        expect(patched.status).to.equal(200);
        expect((await scim.delete(`/Users/${body.id}`)).status).to.equal(204);
      }),
    );
    expect(waits.average, JSON.stringify(waits.statements)).to.be.at.most(1);
  });

  it("are counted and reported exactly, before and after the sums", async () => {
    const { app, database } = the();
    await eventually(async () => (await faultsOf(database.url, accountCreated)).waiting === 0, "all are told", 20_000);
    expect(await faultsOf(database.url, accountCreated)).to.deep.equal(none);
    await Promise.all([
      runJob(app, "memberCountJob"),
      runJob(app, "memberCountJob"),
      atATime(10, 30, () => scim.post("/Users", newScimUser())),
    ]);
    await runJob(app, "memberCountJob");
    await eventually(async () => (await faultsOf(database.url, accountCreated)).waiting === 0, "all are told", 20_000);
    expect(await faultsOf(database.url, accountCreated)).to.deep.equal(none);
    const { organization, group } = await the().as(the().owner)
      .graphql(`{ organization(organization: "default") { memberCount members(first: 1) { totalCount } }
        group(group: "${the().defaultOrganization}") { totalMemberCount } }`);
    expect(organization.memberCount).to.equal(organization.members.totalCount);
    expect(group.totalMemberCount).to.equal(organization.memberCount);
  });

  it("are in the inboxes of administrators within two seconds, with who did it, and not of the new administrator", async () => {
    const { owner } = the();
    const before = await toldTo(admin, accountDeleted);
    // The job of the server itself sends them.
    expect(intervalOf("noticeJob")).to.be.at.most(2_000);
    const eve = await the().user("eve");
    const { createUser } = await the().as(owner)
      .graphql(`mutation { createUser(input: { username: "zoe", email: "zoe@example.com", isServiceAccount: true }) {
        user { id } } }`);
    await the().as(owner).graphql(`mutation { deleteUser(input: { user: "${createUser.user.id}" }) { __typename } }`);
    await eventually(async () => (await toldTo(admin, accountDeleted)).length > before.length, "she is told");
    const { inboxNotifications } = await the().as(admin).graphql(`{ inboxNotifications(first: 2) {
      nodes { title content targets } } }`);
    expect(inboxNotifications.nodes.map(({ title }: { title: string }) => title)).to.deep.equal([
      "Account zoe was deleted",
      "Account zoe was created",
    ]);
    for (const { content, targets } of inboxNotifications.nodes) {
      expect(content).to.include(`by **${owner.username}**`);
      expect(targets).to.deep.equal([createUser.user.id]);
    }
    expect(await toldTo(eve, accountCreated)).to.deep.equal([]);
  });

  it("tell no one of a creation that fails", async () => {
    const { database, owner } = the();
    const taken = await the()
      .as(owner)
      .post("/graphql", {
        query: "mutation($input: CreateUserInput!) { createUser(input: $input) { __typename } }",
        variables: { input: { ...newAccount(9_999), isServiceAccount: true, organizationIds: [owner.id] } },
      });
    expect(taken.body.errors).to.have.length(1);
    expect((await faultsOf(database.url, accountCreated)).waiting).to.equal(0);
  });
});
