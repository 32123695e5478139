// How an audit log with the events of years is read.
// Looks inside: a hundred thousand events.
import { expect } from "chai";
import { runJob } from "../support/background.js";
import { fillAuditLog } from "../support/filled-tables.js";
import { onEveryConnection, readsOf } from "../support/reads.js";
import { type Client, type Person, world } from "../support/world.js";

describe("an audit log of many events", () => {
  const connections = 2;
  const the = world({ STEWARD_DATABASE_POOL: String(connections) });
  const organizationAdmins: Person[] = [];
  let [actor, organization]: string[] = [];

  before(async () => {
    const w = the();
    organization = (await w.organization()).id;
    const other = (await w.organization()).id;
    for (const organizationIds of [[organization], [organization, other]]) {
      const admin = await w.user("oadmin", organizationIds);
      for (const id of organizationIds)
        await w.as(w.owner).graphql(
          `mutation($organization: String!, $user: String!) { setOrganizationMemberRoles(
            input: { organization: $organization, user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
          { organization: id, user: admin.id },
        );
      organizationAdmins.push(admin);
    }
    actor = organizationAdmins[0]!.id;
    // The server itself does so seconds after its start, and hours later: not while reads are counted.
    await runJob(w.app, "dailyCountsJob");
    // Rare events and those of the organizations are weeks old.
    await fillAuditLog(w, { actor, organizations: [organization, other] });
  });

  /** Runs `ask` ten times on each connection of the server. */
  async function repeat(ask: () => Promise<unknown>): Promise<void> {
    for (let time = 0; time < 10; time++) await onEveryConnection(connections, ask);
  }

  it("is read through an index, whatever the filter and however often it is used", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const queries: Array<[Client, Record<string, unknown>]> = [
      [owner, {}],
      [owner, { filter: { actor } }],
      [owner, { filter: { actor: organizationAdmins[0]!.username } }],
      [owner, { filter: { actor: organizationAdmins[0]!.email } }],
      [owner, { filter: { actor: "no-such" } }],
      [owner, { filter: { action: "DENY" } }],
      [owner, { filter: { action: "REVOKE" } }],
      [owner, { filter: { resourceType: "template" } }],
      [owner, { filter: { resourceType: "workspace", resourceId: "cfcd2084-95d5-65ef-66e7-dff9f98764da" } }],
      [owner, { filter: { organization } }],
      [owner, { filter: { before: "2000-01-01T00:00:00Z" } }],
      [owner, { filter: { after: "2100-01-01T00:00:00Z", action: "LOGIN" } }],
      [w.as(organizationAdmins[0]!), {}],
      [w.as(organizationAdmins[0]!), { filter: { after: "2000-01-01T00:00:00Z", action: "DENY" } }],
      [w.as(organizationAdmins[0]!), { filter: { action: "LOGIN" } }],
      [w.as(organizationAdmins[0]!), { filter: { resourceType: "template" } }],
      [w.as(organizationAdmins[1]!), { filter: { actor } }],
    ];
    const page = `query($filter: AuditEventFilter) { auditEvents(filter: $filter, first: 10) { nodes { id } } }`;
    // Expensive queries must not spoil the plans of later ones.
    const large = `{ auditEvents(first: 1000) { nodes { id time diff } pageInfo { endCursor } totalCount } }`;
    await repeat(() => w.as(organizationAdmins[1]!).graphql(large));
    for (const [client, variables] of queries) {
      const label = JSON.stringify(variables);
      const most = 10 * connections * 500;
      const reads = () => repeat(() => client.graphql(page, variables));
      const { scans, fetched } = await readsOf(w, ["audit_events"], reads, most);
      expect(scans, `sequential scans for ${label}`).to.equal(0);
      expect(fetched, `events fetched for ${label}`).to.be.below(most);
    }
  });
});
