// Notices to people that their API tokens, SCIM keys, and shares of workspaces end soon.
// Reaches for tables: the jobs are run by the test, and the ends are moved in the tables, which would otherwise be weeks ahead.
import { expect } from "chai";
import { boxOf, runningBox, templateOf } from "../support/builds.js";
import { runJob } from "../support/background.js";
import { letPass, lockRows, setColumns, setTimes } from "../support/tables.js";
import { type Person, world } from "../support/world.js";

describe("people are told that something of theirs ends", () => {
  const w = world();

  const noticesOf = async (user: Pick<Person, "token">): Promise<string[]> => {
    const { body } = await w().as(user).get("/api/v2/notifications/inbox");
    return (body.notifications as Array<{ title: string }>)
      .map(({ title }) => title)
      .filter((title) => title.includes("ends soon"));
  };

  /** Runs the jobs as several replicas would. */
  async function run(): Promise<void> {
    await Promise.all(
      [1, 2, 3].flatMap(() => [
        runJob(w().app, "tokenEndNotices"),
        runJob(w().app, "scimKeyEndNotices"),
        runJob(w().app, "shareEndNotices"),
      ]),
    );
    // These leave out what the server itself is at work on, which it begins a minute after its start.
    for (const table of ["api_keys", "scim_keys", "workspace_acl_entries"])
      await lockRows(w(), table, {}, async () => {});
  }

  async function tokenOf(user: Person, name: string): Promise<string> {
    const { createApiKey } = await w()
      .as(user)
      .graphql(`mutation($name: String!) { createApiKey(input: { name: $name }) { apiKey { id } } }`, { name });
    return createApiKey.apiKey.id;
  }

  it("14, 7, and 1 days before API tokens do, once each", async () => {
    const [ada, ben] = await w().users("ada", "ben");
    const id = await tokenOf(ada!, "deploy");
    await setTimes(w(), "api_keys", { id }, { created_at: "-60 days", expires_at: "15 days" });
    const counts: number[] = [];
    // It ends in 15 days, 13, 8, 6, 2, in 12 hours, an hour, and has ended.
    for (const passed of ["0 h", "2 days", "5 days", "2 days", "4 days", "36 h", "11 h", "2 h"]) {
      await letPass(w(), "api_keys", { id }, passed, ["created_at", "expires_at", "end_noticed_at"]);
      await run();
      await run();
      counts.push((await noticesOf(ada!)).length);
    }
    expect(counts).to.deep.equal([0, 1, 1, 2, 2, 3, 3, 3]);
    expect((await noticesOf(ada!))[0]).to.equal("Your API token deploy ends soon");
    expect(await noticesOf(ben!)).to.deep.equal([]);
  });

  it("but not of a short life that is no surprise, and not of sessions", async () => {
    const [ada] = await w().users("ada");
    const id = await tokenOf(ada!, "short");
    await setTimes(w(), "api_keys", { id }, { created_at: "-1 h", expires_at: "3 days" });
    await setColumns(w(), "api_keys", { user_id: ada!.id, kind: "session" }, { created_at: new Date(0) });
    await run();
    expect(await noticesOf(ada!)).to.deep.equal([]);
    await setTimes(w(), "api_keys", { id }, { created_at: "-3 days", expires_at: "20 h" });
    await run();
    expect(await noticesOf(ada!)).to.have.length(1);
  });

  it("the creator of a SCIM key", async () => {
    const { createScimKey } = await w()
      .as(w().owner)
      .graphql(`mutation { createScimKey(input: { name: "directory" }) { scimKey { id } } }`);
    const { id } = createScimKey.scimKey;
    await setTimes(w(), "scim_keys", { id }, { created_at: "-60 days", expires_at: "6 days" });
    await run();
    expect(await noticesOf(w().owner)).to.deep.equal(["The SCIM key directory ends soon"]);
  });

  it("the owner of a workspace and the user with whom it is shared", async () => {
    const [ada, ben, eve] = await w().users("ada", "ben", "eve");
    const template = await templateOf(w(), boxOf());
    const { workspace } = await runningBox(w(), ada!, template.id);
    const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
    await w()
      .as(ada!)
      .graphql(`mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`, {
        input: { workspace: workspace.id, userPerms: [{ id: ben!.id, role: "use", expiresAt }] },
      });
    await run();
    expect(await noticesOf(ben!)).to.deep.equal([]);
    const share = { workspace_id: workspace.id, user_id: ben!.id };
    await setTimes(w(), "workspace_acl_entries", share, { created_at: "-20 days", expires_at: "13 days" });
    await run();
    const title = `A share of the workspace ${workspace.name} ends soon`;
    expect(await noticesOf(ada!)).to.deep.equal([title]);
    expect(await noticesOf(ben!)).to.deep.equal([title]);
    expect(await noticesOf(eve!)).to.deep.equal([]);
  });
});
