// Workspace proxies as their operators see them.
// Reaches for tables: tokens are stored nowhere as text.
import { expect } from "chai";
import { makeProxy, proxiesPath } from "./support/proxies.js";
import { storedText } from "./support/tables.js";
import { type Client, type Person, type World, world } from "./support/world.js";

const proxyFields = `id name displayName icon pathAppUrl wildcardHostname derpEnabled derpOnly version healthy deleted
  createdAt updatedAt status { status checkedAt report { errors warnings } }`;
const proxyQuery = `query($ref: String!) { workspaceProxy(workspaceProxy: $ref) { ${proxyFields} } }`;
const createProxy = `mutation($input: CreateWorkspaceProxyInput!) {
  createWorkspaceProxy(input: $input) { workspaceProxy { ${proxyFields} } proxyToken } }`;
const updateProxy = `mutation($input: UpdateWorkspaceProxyInput!) {
  updateWorkspaceProxy(input: $input) { workspaceProxy { ${proxyFields} } proxyToken } }`;
const deleteProxy = `mutation($ref: String!) {
  deleteWorkspaceProxy(input: { workspaceProxy: $ref }) { workspaceProxy { name deleted status { status } } } }`;

const tokenForm = /^stwp_([0-9a-f]{32})_[0-9A-Za-z]{43}$/;

/** The audit events of a proxy, oldest first. */
async function history(w: World, id: string) {
  const { auditEvents } = await w.as(w.owner).graphql(
    `query($id: String) { auditEvents(filter: { resourceType: "workspace_proxy", resourceId: $id }) {
      nodes { action actorId resourceLabel diff } } }`,
    { id },
  );
  return auditEvents.nodes.toReversed();
}

const fieldsOf = (body: { validations?: Array<{ field: string }> }) => body.validations?.map(({ field }) => field);

describe("workspace proxies", () => {
  const the = world({
    STEWARD_ACCESS_URL: "https://steward.example.com",
    STEWARD_WILDCARD_ACCESS_URL: "*.Apps.example.com",
  });
  const owner = () => the().as(the().owner);
  const get = (ref: string) => owner().get(`${proxiesPath}/${ref}`);
  const listed = async (client: Client = owner()) => {
    const { status, body } = await client.get(proxiesPath);
    expect(status).to.equal(200);
    expect(body).to.have.length(1);
    return body[0].regions as Array<Record<string, unknown>>;
  };

  it("start with the deployment itself, which is always healthy", async () => {
    const [primary] = await listed(the().as(await the().user("ada")));
    const { serverInfo } = await owner().graphql("{ serverInfo { deploymentId version } }");
    expect(primary).to.deep.include({
      id: serverInfo.deploymentId,
      name: "primary",
      display_name: "Default",
      icon_url: "",
      path_app_url: "https://steward.example.com",
      wildcard_hostname: "*.apps.example.com",
      derp_enabled: false,
      derp_only: false,
      deleted: false,
      healthy: true,
      version: serverInfo.version,
    });
    expect(primary!.status).to.deep.include({ status: "ok", report: { errors: [], warnings: [] } });
    const { checked_at } = primary!.status as { checked_at: string };
    expect(Math.abs(Date.parse(checked_at) - Date.now())).to.be.lessThan(60_000);
    for (const ref of ["primary", "PRIMARY", serverInfo.deploymentId, serverInfo.deploymentId.toUpperCase()]) {
      const { status, body } = await get(ref);
      expect(status, ref).to.equal(200);
      expect({ ...body, status: 0 }, ref).to.deep.equal({ ...primary, status: 0 });
    }
  });

  it("are created with a token that is shown once, and are unhealthy until they register", async () => {
    const w = the();
    const { status, body } = await owner().post(proxiesPath, { name: "eu", display_name: "Europe", icon: "/eu.svg" });
    expect(status).to.equal(201);
    const { proxy_token: token, proxy: again, ...proxy } = body;
    expect(again).to.deep.equal(proxy);
    expect(tokenForm.exec(token)?.[1]).to.equal(proxy.id.replaceAll("-", ""));
    expect(proxy).to.deep.include({
      name: "eu",
      display_name: "Europe",
      icon_url: "/eu.svg",
      path_app_url: "",
      wildcard_hostname: "",
      version: "",
      derp_enabled: true,
      derp_only: false,
      healthy: false,
      deleted: false,
      status: { report: { errors: [], warnings: [] }, status: "unregistered" },
    });
    expect((await get("EU")).body).to.deep.equal(proxy);
    expect((await get(proxy.id)).body).to.deep.equal(proxy);
    expect((await listed()).map(({ name }) => name)).to.deep.equal(["primary", "eu"]);

    expect((await owner().post(proxiesPath, { name: "EU" })).body).to.deep.equal({
      message: "This name is in use.",
      validations: [{ field: "name", detail: "This name is in use." }],
    });
    expect(await owner().post(proxiesPath, { name: "EU" })).to.include({ status: 409 });

    expect(await storedText(w, "workspace_proxies")).to.not.include(token.split("_")[2]);
    const events = await history(w, proxy.id);
    expect(events).to.deep.equal([
      {
        action: "CREATE",
        actorId: w.owner.id,
        resourceLabel: "eu",
        diff: {
          name: { new: "eu" },
          displayName: { new: "Europe" },
          icon: { new: "/eu.svg" },
          token: { new: "***" },
        },
      },
    ]);
  });

  it("are the same in GraphQL", async () => {
    const made = await owner().graphql(createProxy, { input: { name: "gql", displayName: "Graph" } });
    const { workspaceProxy, proxyToken } = made.createWorkspaceProxy;
    expect(proxyToken).to.match(tokenForm);
    expect(workspaceProxy).to.deep.include({ name: "gql", displayName: "Graph", healthy: false, deleted: false });
    expect(workspaceProxy.status).to.deep.equal({
      status: "UNREGISTERED",
      checkedAt: null,
      report: { errors: [], warnings: [] },
    });
    expect((await owner().graphql(proxyQuery, { ref: "GQL" })).workspaceProxy).to.deep.equal(workspaceProxy);

    const { workspaceProxies, regions } = await owner().graphql(`{
      workspaceProxies { name } regions { id name displayName icon healthy pathAppUrl wildcardHostname } }`);
    expect(workspaceProxies.map(({ name }: { name: string }) => name)).to.include.members(["primary", "gql"]);
    expect(regions[0]).to.deep.include({ name: "primary", displayName: "Default", healthy: true });
    expect(regions.map(({ name }: { name: string }) => name)).to.deep.equal(
      workspaceProxies.map(({ name }: { name: string }) => name),
    );

    const renamed = await owner().graphql(updateProxy, {
      input: { workspaceProxy: "gql", displayName: "", name: "gql-2" },
    });
    expect(renamed.updateWorkspaceProxy).to.deep.include({ proxyToken: null });
    expect(renamed.updateWorkspaceProxy.workspaceProxy).to.include({ name: "gql-2", displayName: "" });
    const gone = await owner().graphql(deleteProxy, { ref: "gql-2" });
    expect(gone.deleteWorkspaceProxy.workspaceProxy).to.deep.equal({
      name: "gql-2",
      deleted: true,
      status: { status: null },
    });
    expect((await owner().failure(proxyQuery, { ref: "gql-2" })).code).to.equal("NOT_FOUND");
    expect((await owner().failure(createProxy, { input: {} })).errors[0]!.extensions).to.deep.include({
      code: "BAD_USER_INPUT",
      validations: [{ field: "input.name", detail: "Is required." }],
    });
  });

  it("cannot take the name of the primary, and have all faults reported together", async () => {
    for (const name of ["Primary", "primary", "PRIMARY", "", "a_b", "-a", "x".repeat(33), "new", "me"]) {
      const { status, body } = await owner().post(proxiesPath, { name });
      expect(status, name).to.equal(400);
      expect(fieldsOf(body), name).to.deep.equal(["name"]);
    }
    expect(fieldsOf((await owner().post(proxiesPath, {})).body)).to.deep.equal(["name"]);
    const all = { name: "a b", display_name: " x", icon: "javascript:alert(1)" };
    expect(fieldsOf((await owner().post(proxiesPath, all)).body)).to.deep.equal(["name", "display_name", "icon"]);
    await makeProxy(the(), "taken");
    const { id } = await makeProxy(the(), "other");
    const answer = await owner().patch(`${proxiesPath}/${id}`, { ...all, name: "primary", id: the().owner.id });
    expect(fieldsOf(answer.body)).to.have.members(["name", "display_name", "icon", "id"]);
    expect(await owner().patch(`${proxiesPath}/other`, { name: "TAKEN" })).to.include({ status: 409 });
  });

  it("are updated by field: absent and null keep a value, an empty name keeps it, other empty texts clear it", async () => {
    const w = the();
    const made = await owner().post(proxiesPath, { name: "change", display_name: "Change", icon: "/c.svg" });
    const { id } = made.body;
    const path = `${proxiesPath}/change`;
    const patch = async (body: object) => {
      const answer = await owner().patch(path, body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      expect(answer.body).to.not.have.property("proxy_token");
      return answer.body;
    };
    expect(await patch({})).to.include({ name: "change", display_name: "Change", icon_url: "/c.svg" });
    expect(await patch({ name: "", display_name: null })).to.include({ name: "change", display_name: "Change" });
    expect(await patch({ id, display_name: "", icon: "" })).to.include({ display_name: "", icon_url: "" });
    expect(await patch({ id: id.toUpperCase(), name: "CHANGE" })).to.include({ name: "CHANGE" });
    expect((await history(w, id)).slice(1)).to.deep.equal([
      {
        action: "UPDATE",
        actorId: w.owner.id,
        resourceLabel: "change",
        diff: { displayName: { old: "Change", new: "" }, icon: { old: "/c.svg", new: "" } },
      },
      {
        action: "UPDATE",
        actorId: w.owner.id,
        resourceLabel: "change",
        diff: { name: { old: "change", new: "CHANGE" } },
      },
    ]);
  });

  it("return a new token on request, and never again", async () => {
    const w = the();
    const { id, token } = await makeProxy(w, "regenerated");
    const { status, body } = await owner().patch(`${proxiesPath}/${id}`, { regenerate_token: true });
    expect(status).to.equal(200);
    expect(body.proxy_token).to.match(tokenForm).and.not.equal(token);
    expect(await get(id).then((answer) => answer.body)).to.not.have.property("proxy_token");
    expect((await history(w, id)).at(-1)).to.deep.include({ diff: { token: { old: "***", new: "***" } } });
    const told = JSON.stringify([await listed(), await history(w, id)]);
    for (const text of [token, body.proxy_token]) expect(told).to.not.include(text.split("_")[2]);
  });

  it("remain readable only by id once deleted", async () => {
    const w = the();
    const { id } = await makeProxy(w, "brief");
    const gone = await owner().delete(`${proxiesPath}/BRIEF`);
    expect(gone).to.include({ status: 200 });
    expect(gone.body).to.deep.equal({ message: "Proxy has been deleted." });
    expect((await get(id)).body).to.deep.include({ deleted: true, healthy: false, status: {}, name: "brief" });
    const missing = await get("nobody");
    expect(missing).to.include({ status: 404 });
    for (const answer of [
      await get("brief"),
      await owner().delete(`${proxiesPath}/${id}`),
      await owner().delete(`${proxiesPath}/brief`),
      await owner().patch(`${proxiesPath}/${id}`, { name: "x" }),
      await owner().patch(`${proxiesPath}/${id}`, { regenerate_token: true }),
    ]) {
      expect(answer).to.include({ status: 404 });
      expect(answer.body).to.deep.equal(missing.body);
    }
    expect((await listed()).map(({ name }) => name)).to.not.include("brief");
    expect((await makeProxy(w, "brief")).id).to.not.equal(id);
    expect((await history(w, id)).at(-1)).to.include({ action: "DELETE", resourceLabel: "brief" });
  });

  it("include the primary, of which only display name and icon can change", async () => {
    const w = the();
    const { body: before } = await get("primary");
    const path = `${proxiesPath}/Primary`;
    const { status, body } = await owner().patch(path, { display_name: "Home", icon: "/home.svg", name: "primary" });
    expect(status).to.equal(200);
    expect(body).to.include({ display_name: "Home", icon_url: "/home.svg", name: "primary", id: before.id });
    expect((await owner().patch(`${proxiesPath}/${before.id}`, { icon: "" })).body).to.include({
      display_name: "Home",
      icon_url: "",
    });
    const { regions } = await owner().graphql("{ regions { displayName icon } }");
    expect(regions[0]).to.deep.equal({ displayName: "Home", icon: "" });
    for (const [change, field] of [
      [{ name: "other" }, "name"],
      [{ regenerate_token: true }, "regenerate_token"],
      [{ id: w.owner.id }, "id"],
      [{ display_name: "x".repeat(65) }, "display_name"],
      [{ icon: "ftp://x" }, "icon"],
    ] as const) {
      const refused = await owner().patch(path, change);
      expect(refused, field).to.include({ status: 400 });
      expect(fieldsOf(refused.body)).to.deep.equal([field]);
    }
    expect(await owner().delete(path)).to.include({ status: 400 });
    expect(await owner().delete(`${proxiesPath}/${before.id}`)).to.include({ status: 400 });
    expect((await history(w, before.id)).map(({ diff }: { diff: object }) => diff)).to.deep.equal([
      { displayName: { old: "Default", new: "Home" }, icon: { old: "", new: "/home.svg" } },
      { icon: { old: "/home.svg", new: "" } },
    ]);
    await owner().patch(path, { display_name: "Default" });
  });

  it("are readable by every signed-in user, and writable by owners alone", async () => {
    const w = the();
    const { id } = await makeProxy(w, "guarded");
    const [ada, auditor] = (await w.users("ada", "auditor")) as [Person, Person];
    await w.grant(auditor, "auditor");
    for (const person of [ada, auditor]) {
      const client = w.as(person);
      expect(await client.get(`${proxiesPath}/${id}`), person.username).to.include({ status: 200 });
      // Authorization comes before validation.
      for (const answer of [
        await client.post(proxiesPath, { name: "?" }),
        await client.patch(`${proxiesPath}/${id}`, { name: "?" }),
        await client.patch(`${proxiesPath}/primary`, { name: "?" }),
        await client.delete(`${proxiesPath}/${id}`),
        await client.delete(`${proxiesPath}/primary`),
      ])
        expect(answer, person.username).to.include({ status: 403 });
      expect(await client.patch(`${proxiesPath}/nobody`, {}), person.username).to.include({ status: 404 });
      expect((await client.failure("{ workspaceProxies { replicas { id } } }")).code).to.equal("FORBIDDEN");
    }
    const checks = { can: { action: "update", object: { resource_type: "workspace_proxy", resource_id: id } } };
    expect((await w.as(ada).post("/api/v2/authcheck", { checks })).body).to.deep.equal({ can: false });
    expect((await owner().post("/api/v2/authcheck", { checks })).body).to.deep.equal({ can: true });
  });

  it("have unique names, even under concurrent creation", async () => {
    const answers = await Promise.all(
      ["Race", "race", "RACE", "rAce", "raCe", "racE"].map((name) => owner().post(proxiesPath, { name })),
    );
    expect(answers.map(({ status }) => status)).to.have.members([201, 409, 409, 409, 409, 409]);
    const deletions = await Promise.all(Array.from({ length: 5 }, () => owner().delete(`${proxiesPath}/race`)));
    expect(deletions.map(({ status }) => status)).to.have.members([200, 404, 404, 404, 404]);
  });

  it("are limited to 100", async () => {
    const w = the();
    const room = 101 - (await listed()).length;
    for (let n = 0; n < room; n++) await makeProxy(w, `full-${n}`);
    const { status, body } = await owner().post(proxiesPath, { name: "one-more" });
    expect(status).to.equal(409);
    expect(body.message).to.equal("There can be at most 100 proxies.");
    expect(await owner().delete(`${proxiesPath}/full-0`)).to.include({ status: 200 });
    await makeProxy(w, "one-more");
  });
});
