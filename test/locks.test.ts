// Which rows a request locks: none before its caller is authorized, so that forbidden requests delay no one else.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { makeProxy } from "./support/proxies.js";
import { enter, startWorkspaces } from "./support/stage.js";
import { locksOf } from "./support/statements.js";
import { insertOffer } from "./support/workspaces.js";
import { type Client, world } from "./support/world.js";

describe("row locks", () => {
  const the = world();

  const change = (verb: string, input: string) => `mutation { ${verb}(input: { ${input} }) { __typename } }`;

  async function changes(client: Client, documents: string[]) {
    const codes: string[] = [];
    const locks = await locksOf(async () => {
      for (const document of documents) codes.push((await client.failure(document)).code);
    });
    return { codes, locks };
  }

  const elsewhere = ["organization-admin", "organization-user-admin"];
  for (const [who, part] of Object.entries({
    "a plain member": { roles: [] },
    "an auditor": { siteRoles: ["auditor"] },
    "an administrator of another organization": { rolesElsewhere: elsewhere },
  })) {
    it(`are not taken by forbidden changes of ${who}`, async () => {
      const { client, stage } = await enter(the(), part);
      const { organization, victim, bot, team, key } = stage;
      await startWorkspaces(the(), stage);
      const offer = await insertOffer(the(), stage.workspace, victim, the().owner.id);
      const proxy = await makeProxy(the(), `locked-${newId().slice(-12)}`);
      const member = `organization: "${organization}", user: "${victim}"`;
      const { codes, locks } = await changes(client, [
        ...["suspendUser", "activateUser", "deleteUser"].map((verb) => change(verb, `user: "${bot}"`)),
        change("updateUser", `user: "${victim}", name: "x"`),
        change("resetUserPassword", `user: "${victim}", password: "seven-lamps-beside-the-old-canal"`),
        change("inviteUser", `email: "x@example.com"`),
        change("resendInvitation", `id: "${newId()}"`),
        change("revokeInvitation", `id: "${newId()}"`),
        change("importInvitations", `csv: "email\\nx@example.com"`),
        change("unlinkUserIdentity", `user: "${victim}"`),
        change("linkUserIdentity", `user: "${victim}", subject: "x"`),
        change("setUserRoles", `user: "${victim}", roles: []`),
        change("createApiKey", `user: "${bot}", name: "x"`),
        change("revokeApiKey", `id: "${key}"`),
        change("setQuietHours", `user: "${victim}", schedule: "0 1 * * *"`),
        change("createUserSecret", `user: "${victim}", name: "x", value: "x"`),
        change("updateUserSecret", `user: "${victim}", name: "kept", value: "x"`),
        change("deleteUserSecret", `user: "${victim}", name: "kept"`),
        change("updateOrganization", `organization: "${organization}", description: "x"`),
        change("deleteOrganization", `organization: "${organization}"`),
        change("addOrganizationMember", `organization: "${organization}", user: "${stage.newcomer}"`),
        change("removeOrganizationMember", member),
        change("setOrganizationMemberRoles", `${member}, roles: []`),
        change("transferWorkspaces", `workspaces: ["${stage.workspace}"]`),
        change("acceptWorkspaceTransfer", `id: "${offer}"`),
        change("declineWorkspaceTransfer", `id: "${offer}"`),
        change("createGroup", `organization: "${organization}", name: "x"`),
        change("updateGroup", `group: "${team}", displayName: "x"`),
        change("deleteGroup", `group: "${team}"`),
        change("setGroupAiBudget", `group: "${team}", spendLimitMicros: 1`),
        change("deleteGroupAiBudget", `group: "${team}"`),
        change("recordAiUsage", `organization: "${organization}", entries: []`),
        change("createWorkspaceProxy", `name: "mine"`),
        change("addLicense", `license: "x"`),
        change("deleteLicense", `id: 1`),
        change("updateAppearance", `applicationName: "x"`),
        change("updatePrebuildsSettings", `reconciliationPaused: true`),
        ...[proxy.id, proxy.name, "primary"].flatMap((ref) => [
          change("updateWorkspaceProxy", `workspaceProxy: "${ref}", displayName: "x"`),
          change("deleteWorkspaceProxy", `workspaceProxy: "${ref}"`),
        ]),
        change("deleteWorkspaceProxy", `workspaceProxy: "${newId()}"`),
      ]);
      expect(new Set(codes)).to.deep.equal(new Set(["FORBIDDEN", "NOT_FOUND"]));
      expect(locks).to.deep.equal([]);
    });
  }

  it("are taken by permitted changes", async () => {
    const { client, stage } = await enter(the(), { siteRoles: ["owner"] });
    const locks = await locksOf(() =>
      client.graphql(change("updateGroup", `group: "${stage.team}", displayName: "x"`)),
    );
    expect(locks.length).to.be.greaterThan(0);
  });
});
