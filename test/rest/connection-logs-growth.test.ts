// Pages of the connection log take few rows, however many there are.
// Looks inside: Postgres counts how many rows it reads of a large table.
import { expect } from "chai";
import { newId } from "../support/ids.js";
import { logPath } from "../support/connections.js";
import { fillConnectionLog } from "../support/filled-tables.js";
import { readsSoFar } from "../support/reads.js";
import { type Person, world } from "../support/world.js";

const rows = 60_000;
const connections = 2;

describe(`a connection log of ${rows} rows`, () => {
  const the = world({ STEWARD_DATABASE_POOL: String(connections) });
  const workspace = newId();
  const connection = newId();
  let organization: { id: string; name: string };
  let admin: Person;
  let visitor: Person;

  before(async () => {
    const w = the();
    organization = await w.organization();
    admin = await w.user("head", [organization.id]);
    visitor = await w.user("visitor");
    await w.as(w.owner).graphql(
      `mutation($organization: String!, $user: String!) { setOrganizationMemberRoles(
        input: { organization: $organization, user: $user, roles: [ORGANIZATION_ADMIN] }) { __typename } }`,
      { organization: organization.id, user: admin.id },
    );
    await fillConnectionLog(w, {
      rows,
      rare: { organization: organization.id, workspace, visitor: visitor.id, connection },
    });
  });

  const reads = () => readsSoFar(the(), ["connection_logs"]).then(({ read }) => read);

  it("is not read as a whole, however often a page is requested", async () => {
    const w = the();
    const all = w.as(w.owner);
    const own = w.as(admin);
    const pages: Array<[client: typeof all, search: string, offset?: number]> = [
      [all, ""],
      [all, "", 500],
      [own, ""],
      [all, `organization:${organization.name}`],
      [all, `workspace_id:${workspace}`],
      [all, `connection_id:${connection}`],
      [all, `workspace_owner:${visitor.username}`],
      [all, `user_email:${visitor.email}`],
      [all, "type:port_forwarding"],
      [all, "type:ssh,workspace_app"],
      [all, "status:ongoing"],
      [own, "status:ongoing type:ssh"],
      [all, "status:completed"],
      [all, "status:ongoing,completed type:ssh"],
      [all, "status:completed type:workspace_app"],
      [all, "connected_before:2000-01-01"],
      [all, "connected_after:2000-01-01 type:ssh"],
      [all, "username:nobody"],
    ];
    for (const [client, search, offset = 0] of pages) {
      const path = `${logPath}?limit=10&offset=${offset}&q=${encodeURIComponent(search)}`;
      const before = await reads();
      for (let time = 0; time < 8; time++)
        await Promise.all(Array.from({ length: connections }, () => client.get(path)));
      const after = await reads();
      // The rows of the page, those before it, and up to 2,001 that are counted; a filter may skip every other one.
      const perPage = (after - before) / (8 * connections);
      expect(perPage, `rows read for ${search}`).to.be.below(4_500 + offset);
    }
  });
});
