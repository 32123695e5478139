// Logs find users by the names that they had then: users who left, and none who took their names later.
// Looks inside: workspaces are deleted without a daemon, and an upgrade finds rows of an earlier release.
import { expect } from "chai";
import { migrateOffline } from "../../../src/infrastructure/database/migrations.js";
import { openDatabase } from "../../../src/infrastructure/database/database.js";
import { createUser, deleteUser } from "../../support/accounts.js";
import { ownerPassword, startServer } from "../../support/app.js";
import { createDatabase } from "../../support/cluster.js";
import { connect, logged, reported, visit } from "../../support/connections.js";
import { newId } from "../../support/ids.js";
import { queueImport } from "../../support/provisioners.js";
import { makeProxy } from "../../support/proxies.js";
import { addOwner, countNames, storeRowsWithoutNames } from "../../support/rows-without-names.js";
import { setTimes } from "../../support/tables.js";
import { Client, type Person, type World, world } from "../../support/world.js";

const auditEvents = `query($filter: AuditEventFilter) {
  auditEvents(filter: $filter) { nodes { actorId actorUsername } } }`;
const messages = `query($filter: NotificationMessageFilter) {
  notificationMessages(filter: $filter) { nodes { userId } } }`;
const jobs = `query($filter: ProvisionerJobFilter!) {
  provisionerJobs(organization: "default", filter: $filter) { nodes { initiatorId } } }`;

interface Connection {
  workspace_owner_id: string;
  web_info?: { user: { id: string } };
}

const distinct = (ids: Array<string | null>) => [...new Set(ids)];

/** The users whose rows each log finds for a user. */
async function found(client: Client, user: string) {
  const { auditEvents: events } = await client.graphql(auditEvents, { filter: { actor: user } });
  const { notificationMessages } = await client.graphql(messages, { filter: { user } });
  const { provisionerJobs } = await client.graphql(jobs, { filter: { initiator: user } });
  const connections = async (key: string) =>
    (await client.get(`/api/v2/connectionlog?limit=0&q=${encodeURIComponent(`${key}:${user}`)}`)).body
      .connection_logs as Connection[];
  const suffix = user.includes("@") ? "_email" : "";
  return {
    events: distinct(events.nodes.map(({ actorId }: { actorId: string }) => actorId)),
    deliveries: distinct(notificationMessages.nodes.map(({ userId }: { userId: string }) => userId)),
    jobs: distinct(provisionerJobs.nodes.map(({ initiatorId }: { initiatorId: string }) => initiatorId)),
    owned: distinct((await connections(`workspace_owner${suffix}`)).map((row) => row.workspace_owner_id)),
    visited: distinct((await connections(suffix ? "user_email" : "username")).map((row) => row.web_info!.user.id)),
  };
}

const everywhere = (...ids: string[]) => ({ events: ids, deliveries: ids, jobs: ids, owned: ids, visited: ids });

describe("logs", () => {
  // What only goes to the inbox is not in the delivery log: these notifications go to a webhook, too, which is not there.
  const the = world({
    STEWARD_NOTIFICATIONS_METHOD: "webhook",
    STEWARD_NOTIFICATIONS_WEBHOOK_URL: "http://127.0.0.1:9/hook",
    STEWARD_NOTIFICATIONS_WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, "receiver").toString("base64")}`,
  });
  let proxy: { token: string };

  before(async () => {
    proxy = await makeProxy(the(), "site");
  });

  /** Makes a row in each log. */
  async function act(w: World, person: Person): Promise<void> {
    const box = await w.workspace(person);
    await reported(w, box.agent, connect(newId()));
    await reported(w, proxy, visit(box.id, { userId: person.id }));
    await w.as(person).graphql(`mutation { updateProfile(input: { name: "${newId()}" }) { user { id } } }`);
    await w.as(person).post("/api/v2/notifications/custom", { content: { title: "Hello", message: "World" } });
    await queueImport(w, { initiatorId: person.id });
  }

  /** Deletes a user, and first the user's workspaces. */
  async function leave(w: World, { id }: Person): Promise<void> {
    await setTimes(w, "workspaces", { owner_id: id }, { deleted_at: "0 s" });
    await w.as(w.owner).graphql(deleteUser, { input: { user: id } });
  }

  /** Creates a user with given names. */
  async function named(w: World, username: string, email: string): Promise<Person> {
    const { createUser: made } = await w.as(w.owner).graphql(createUser, {
      input: { username, email, loginType: "NONE" },
    });
    return { id: made.user.id, username, email, token: await w.session(made.user.id) };
  }

  it("find users who left by name, email, and ID, and not those who took their names", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const ada = await w.user("ada");
    await act(w, ada);
    const names = [ada.id, ada.username, ada.username.toUpperCase(), ada.email, ada.email.toUpperCase()];
    for (const name of names) expect(await found(owner, name), name).to.deep.equal(everywhere(ada.id));
    await leave(w, ada);
    for (const name of names) expect(await found(owner, name), name).to.deep.equal(everywhere(ada.id));

    const later = await named(w, ada.username, ada.email);
    for (const name of names) expect(await found(owner, name), name).to.deep.equal(everywhere(ada.id));
    await act(w, later);
    expect(await found(owner, later.id)).to.deep.equal(everywhere(later.id));
    for (const log of Object.values(await found(owner, ada.email))) expect(log).to.have.members([ada.id, later.id]);
  });

  it("find users by the names that they had before, and by their new ones since then", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const bob = await w.user("bob");
    await act(w, bob);
    const now = { username: `${bob.username}-new`, email: `new-${bob.email}` };
    await owner.graphql(
      `mutation($user: String!, $username: String!, $email: EmailAddress!) {
        updateUser(input: { user: $user, username: $username, email: $email }) { user { id } } }`,
      { user: bob.id, ...now },
    );
    expect(await found(owner, now.username)).to.deep.equal(everywhere());
    const eve = await named(w, bob.username, bob.email);
    for (const name of [bob.username, bob.email]) expect(await found(owner, name)).to.deep.equal(everywhere(bob.id));
    await act(w, { ...bob, ...now });
    for (const name of Object.values(now)) expect(await found(owner, name)).to.deep.equal(everywhere(bob.id));
    expect(await found(owner, eve.id)).to.deep.equal(everywhere());
    const { auditEvents: shown } = await owner.graphql(auditEvents, { filter: { actor: bob.id } });
    expect(distinct(shown.nodes.map((event: { actorUsername: string }) => event.actorUsername))).to.deep.equal([
      now.username,
      bob.username,
    ]);
  });

  it("find nothing for names that no user has had", async () => {
    const owner = the().as(the().owner);
    for (const name of ["no-such", "no-such@example.com", newId()])
      expect(await found(owner, name), name).to.deep.equal(everywhere());
  });

  it("disclose no address to auditors of an organization that they could not read", async () => {
    const w = the();
    const side = await w.organization();
    const head = await w.user("head", [side.id]);
    const stranger = await w.user("stranger");
    const member = await w.user("member", [side.id]);
    await w.as(w.owner).graphql(
      `mutation($organization: String!, $user: String!) { setOrganizationMemberRoles(
        input: { organization: $organization, user: $user, roles: [ORGANIZATION_AUDITOR] }) { __typename } }`,
      { organization: side.id, user: head.id },
    );
    const box = await w.workspace(member, { organization: side.id });
    await reported(w, box.agent, connect(newId()));
    for (const { id: userId } of [member, stranger]) await reported(w, proxy, visit(box.id, { userId }));
    const matches = async (q: string) =>
      (await w.as(head).get(`/api/v2/connectionlog?limit=0&q=${encodeURIComponent(q)}`)).body.count as number;
    expect(await matches(`username:${stranger.username}`)).to.equal(1);
    expect(await matches(`user_email:${stranger.email}`)).to.equal(0);
    const own = async () => [
      await matches(`user_email:${member.email}`),
      await matches(`workspace_owner_email:${member.email}`),
    ];
    expect(await own()).to.deep.equal([1, 3]);
    await leave(w, member);
    await w.as(w.owner).graphql(deleteUser, { input: { user: stranger.id } });
    expect(await own()).to.deep.equal([1, 3]);
    expect(await matches(`user_email:${stranger.email}`)).to.equal(0);
    expect((await logged(w, `user_email:${stranger.email}`)).count).to.equal(1);
  });
});

describe("rows of earlier releases", () => {
  const gone = newId();
  const ada = newId();
  const organization = newId();

  it("get the names that their users have at the upgrade, in the first partition and later ones", async function () {
    this.timeout(120_000);
    const database = await createDatabase();
    const opened = openDatabase({ url: database.url, pool: 2, statementTimeout: 0 });
    await migrateOffline(opened, "0069-events-carrier");
    await opened.close();
    await storeRowsWithoutNames(database.url, { organization, gone, ada });

    const app = await startServer(database.url);
    try {
      await addOwner(app, ownerPassword);
      const { body } = await new Client(app.url).post("/api/v2/users/login", {
        email: "owner@example.com",
        password: ownerPassword,
      });
      const owner = new Client(app.url, body.session_token);
      for (const name of ["ada", "ada@example.com"])
        expect(await found(owner, name), name).to.deep.equal(everywhere(gone));
      expect(await found(owner, ada)).to.deep.equal(everywhere());
      const counted = async (filter: object) =>
        (
          await owner.graphql(
            `query($filter: AuditEventFilter) { auditEvents(filter: $filter, first: 1000) { totalCount } }`,
            { filter },
          )
        ).auditEvents.totalCount;
      expect(await counted({ actor: "ada" })).to.be.at.least(1000);
      expect(await countNames(app)).to.deep.equal({
        events: 2500,
        without: 0,
        machines: 0,
        connections: 2500,
        indexes: 0,
      });
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
