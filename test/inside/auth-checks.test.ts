// Looks inside: no response shows whether a long check lets other requests run.
import { expect } from "chai";
import { Context } from "../../src/domain/kernel/context.js";
import { checkPermissions } from "../../src/domain/auth-checks/auth-checks.js";
import { newId } from "../support/ids.js";
import { makeProxy } from "../support/proxies.js";
import { type Person, world } from "../support/world.js";

const path = "/api/v2/authcheck";

interface Check {
  action?: string;
  object?: Record<string, unknown>;
}

/** Builds a check such as `group:read` in the contract's form; `object` adds attributes of the object. */
const check = (permission: string, object: Record<string, unknown> = {}): Check => {
  const [resource_type, action] = permission.split(":");
  return { action, object: { resource_type, ...object } };
};

const many = (count: number, object?: () => Record<string, unknown>) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, check("group:read", object?.())]));

describe("the list of scopes", () => {
  const the = world();

  it("is public, complete, and in byte order", async () => {
    const { status, body } = await the().nobody.get("/api/v2/auth/scopes");
    expect(status).to.equal(200);
    expect(body).to.have.all.keys("external");
    const { external } = body;
    expect(external.slice(0, 3)).to.deep.equal(["all", "api_key:*", "api_key:create"]);
    expect(external).to.include.members(["application_connect", "group:*", "user:read_personal", "workspace:ssh"]);
    expect(external).to.not.include.members(["group_member:read"]);
    expect(external).to.deep.equal([...new Set<string>(external)].sort());
    expect((await the().nobody.graphql("{ authScopes { external } }")).authScopes.external).to.deep.equal(external);
  });
});

describe("permission checks", () => {
  const the = world();
  const ask = async (person: Person, checks: Record<string, Check>) => {
    const { status, body } = await the().as(person).post(path, { checks });
    expect(status, JSON.stringify(body)).to.equal(200);
    return body;
  };
  const may = async (person: Person, permission: string, object?: Record<string, unknown>) =>
    (await ask(person, { it: check(permission, object) })).it;
  const faults = async (checks: unknown) => {
    const { status, body } = await the().as(the().owner).post(path, { checks });
    expect(status).to.equal(400);
    return body.validations.map(({ field }: { field: string }) => field);
  };

  it("need a session, and all return a result, even an empty set", async () => {
    const w = the();
    expect((await w.nobody.post(path, { checks: {} })).status).to.equal(401);
    expect(await ask(w.owner, {})).to.deep.equal({});
    expect(
      await ask(w.owner, { "any key": check("license:read"), "__x é": check("license:fly"), 3: check("dragon:read") }),
    ).to.deep.equal({ "any key": true, "__x é": false, 3: false });
  });

  it("return the same results in GraphQL, in the order of the checks", async () => {
    const w = the();
    const { authCheck } = await w.as(w.owner).graphql(
      `{ authCheck(checks: [
          { key: "b", action: "read", object: { resourceType: "license" } }
          { key: "a", action: "read", object: { resourceType: "inbox_notification" } } ]) { key allowed } }`,
    );
    expect(authCheck).to.deep.equal([
      { key: "b", allowed: true },
      { key: "a", allowed: false },
    ]);
  });

  it("report all their faults together", async () => {
    expect(await faults(undefined)).to.deep.equal(["checks"]);
    // Missing values and values of a wrong type come before rules.
    expect(await faults({ a: {}, b: { action: "read", object: {} }, c: check("group:", {}) })).to.deep.equal([
      "checks.a.action",
      "checks.a.object",
      "checks.b.object.resource_type",
    ]);
    expect(await faults({ a: check("group:"), b: check(":") })).to.deep.equal([
      "checks.a.action",
      "checks.b.action",
      "checks.b.object.resource_type",
    ]);
    expect(await faults({ a: check("group:read", { resource_id: "ops" }) })).to.deep.equal([
      "checks.a.object.resource_id",
    ]);
    expect(await faults({ a: check("license:read", { resource_id: newId() }) })).to.deep.equal([
      "checks.a.object.resource_type",
    ]);
    expect(await faults({ "": check("group:read") })).to.deep.equal(["checks"]);
    expect(await faults({ ["k".repeat(201)]: check("group:read") })).to.deep.equal(["checks"]);
    expect(await faults([])).to.deep.equal(["checks"]);
    expect(await faults({ a: { action: 1, object: { any_org: "yes" } } })).to.deep.equal([
      "checks.a.action",
      "checks.a.object.resource_type",
      "checks.a.object.any_org",
    ]);
  });

  it("are limited to 500, of which 10 may name objects by id", async () => {
    expect(Object.keys(await ask(the().owner, many(500)))).to.have.length(500);
    expect(await faults(many(501))).to.deep.equal(["checks"]);
    expect(
      Object.keys(
        await ask(
          the().owner,
          many(10, () => ({ resource_id: newId() })),
        ),
      ),
    ).to.have.length(10);
    expect(await faults(many(11, () => ({ resource_id: newId() })))).to.deep.equal(["checks"]);
  });

  it("on a stored object use its stored attributes, whatever else they state", async () => {
    const w = the();
    const [admin, member, stranger] = await w.users("admin", "member", "stranger");
    await w.grant(admin!, "organization-admin");
    const group = await w.group(undefined, { members: [member!] });
    const elsewhere = await w.organization();
    const foreign = await w.group(undefined, { organization: elsewhere.id });
    const misleading = { owner_id: stranger!.id, organization_id: elsewhere.id, any_org: true };

    expect(await may(admin!, "group:update", { resource_id: group.id.toUpperCase(), ...misleading })).to.equal(true);
    expect(await may(admin!, "group:update", { resource_id: foreign.id })).to.equal(false);
    expect(await may(w.owner, "group:update", { resource_id: foreign.id })).to.equal(true);
    expect(await may(member!, "group:read", { resource_id: group.id })).to.equal(true);
    expect(await may(member!, "group:update", { resource_id: group.id })).to.equal(false);
    expect(await may(stranger!, "group:read", { resource_id: group.id })).to.equal(false);
    expect(await may(stranger!, "group:read", { resource_id: w.defaultOrganization }), "Everyone").to.equal(true);
    expect(await may(member!, "user:read", { resource_id: member!.id })).to.equal(true);
    expect(await may(member!, "user:read", { resource_id: stranger!.id })).to.equal(false);
    expect(await may(admin!, "user:read", { resource_id: stranger!.id })).to.equal(true);
    expect(await may(admin!, "organization:update", { resource_id: w.defaultOrganization })).to.equal(true);
    expect(await may(admin!, "organization:read", { resource_id: elsewhere.id })).to.equal(false);
    for (const resource of [
      "group",
      "user",
      "organization",
      "template",
      "workspace",
      "task",
      "oauth2_app",
      "workspace_proxy",
    ]) {
      expect(await may(w.owner, `${resource}:read`, { resource_id: newId() }), resource).to.equal(false);
    }
  });

  it("on a type of object use the stated owner and organization", async () => {
    const w = the();
    const [admin, ada] = await w.users("admin", "ada");
    await w.grant(admin!, "organization-admin");
    const elsewhere = await w.organization();
    for (const organization_id of [w.defaultOrganization, "default", "MAIN"]) {
      expect(await may(admin!, "group:create", { organization_id }), organization_id).to.equal(true);
      expect(await may(ada!, "group:create", { organization_id }), organization_id).to.equal(false);
    }
    for (const organization_id of [elsewhere.id, elsewhere.name, newId(), "no-such"]) {
      expect(await may(admin!, "group:create", { organization_id }), organization_id).to.equal(false);
    }
    expect(await may(w.owner, "group:create", { organization_id: newId() })).to.equal(false);
    expect(await may(admin!, "group:create"), "site-wide").to.equal(false);
    expect(await may(w.owner, "group:create"), "site-wide").to.equal(true);
    expect(await may(admin!, "group:create", { any_org: true })).to.equal(true);
    expect(await may(ada!, "group:create", { any_org: true })).to.equal(false);
    expect(await may(admin!, "group:create", { any_org: true, organization_id: elsewhere.id })).to.equal(false);

    const own = { owner_id: "me", organization_id: "default" };
    expect(await may(ada!, "workspace:create", own)).to.equal(true);
    expect(await may(ada!, "workspace:create", { ...own, owner_id: ada!.id.toUpperCase() })).to.equal(true);
    expect(await may(ada!, "workspace:create", { ...own, owner_id: admin!.id })).to.equal(false);
    expect(await may(ada!, "workspace:create", { ...own, organization_id: elsewhere.id })).to.equal(false);
    expect(await may(ada!, "user_secret:read", { owner_id: "me" })).to.equal(true);
    expect(await may(w.owner, "user_secret:read", { owner_id: ada!.id })).to.equal(false);
    expect(await may(w.owner, "workspace:read", { owner_id: newId() }), "unknown owner").to.equal(false);
    expect(await may(w.owner, "workspace:read", { owner_id: ada!.username }), "no id").to.equal(false);
  });

  it("do not reveal whether an object exists that the caller cannot see", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const elsewhere = await w.organization();
    for (const [hidden, absent] of [
      [{ organization_id: elsewhere.id }, { organization_id: newId() }],
      [{ organization_id: elsewhere.name }, { organization_id: "no-such-organization" }],
      [{ owner_id: bob!.id }, { owner_id: newId() }],
    ]) {
      for (const permission of [
        "workspace_proxy:read",
        "notification_template:read",
        "workspace:create",
        "user:read",
      ]) {
        const answers = await ask(ada!, { hidden: check(permission, hidden), absent: check(permission, absent) });
        expect(answers, `${permission} ${JSON.stringify(hidden)}`).to.deep.equal({ hidden: false, absent: false });
      }
    }
  });

  it("treat deleted objects like objects that never existed", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const ada = await w.user("ada");
    const gone = await w.organization();
    const kept = await w.organization();
    const groups = { gone: await w.group(undefined, { organization: gone.id }), kept: await w.group() };
    const proxies = { gone: await makeProxy(w, "gone"), kept: await makeProxy(w, "kept") };
    const bob = await w.user("bob");
    await owner.graphql(`mutation { deleteUser(input: { user: "${ada.id}" }) { __typename } }`);
    await owner.graphql(`mutation { deleteOrganization(input: { organization: "${gone.id}" }) { __typename } }`);
    await owner.delete(`/api/v2/workspaceproxies/${proxies.gone.id}`);
    const asked = (user: string, organization: { id: string; name: string }, group: string, proxy: string) => ({
      user: check("user:read", { resource_id: user }),
      owner: check("workspace:read", { owner_id: user }),
      organization: check("organization:read", { resource_id: organization.id }),
      "organization by id": check("group:create", { organization_id: organization.id }),
      "organization by name": check("group:create", { organization_id: organization.name }),
      group: check("group:read", { resource_id: group }),
      proxy: check("workspace_proxy:read", { resource_id: proxy }),
    });
    const absent = await ask(w.owner, asked(ada.id, gone, groups.gone.id, proxies.gone.id));
    const present = await ask(w.owner, asked(bob.id, kept, groups.kept.id, proxies.kept.id));
    const all = (value: boolean) => Object.fromEntries(Object.keys(present).map((key) => [key, value]));
    expect(present).to.deep.equal(all(true));
    expect(absent).to.deep.equal(all(false));
  });

  it("respect the scopes of the credential, and need none themselves", async () => {
    const w = the();
    const { createApiKey } = await w
      .as(w.owner)
      .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["group:read"] }) { token } }`);
    const narrow = { ...w.owner, token: createApiKey.token };
    expect(await may(narrow, "group:read")).to.equal(true);
    expect(await may(narrow, "group_member:read")).to.equal(true);
    expect(await may(narrow, "group:update")).to.equal(false);
    expect(await may(narrow, "license:read")).to.equal(false);
  });

  it("are limited per request, not per field", async () => {
    const w = the();
    const query = `query($some: [AuthCheckInput!]!, $more: [AuthCheckInput!]!) {
      some: authCheck(checks: $some) { allowed } more: authCheck(checks: $more) { allowed } }`;
    const checks = (count: number, resourceId?: string) =>
      Array.from({ length: count }, (_, n) => ({
        key: String(n),
        action: "read",
        object: { resourceType: "group", ...(resourceId && { resourceId }) },
      }));
    const id = w.defaultOrganization;
    const both = await w.as(w.owner).graphql(query, { some: checks(250), more: checks(250) });
    expect(both.more).to.have.length(250);
    for (const variables of [
      { some: checks(250), more: checks(251) },
      { some: checks(5, id), more: checks(6, id) },
    ]) {
      const { errors } = await w.as(w.owner).failure(query, variables);
      expect(errors).to.have.length(1);
      expect(errors[0]!.path).to.deep.equal(["more"]);
      expect(errors[0]!.extensions).to.include({ code: "BAD_USER_INPUT" });
    }
  });

  it("let other requests run meanwhile", async () => {
    const w = the();
    const { services } = w.app;
    const ctx = new Context(
      services,
      await services.credentials.authenticate(w.owner.token),
      { id: newId() },
      () => new AbortController(),
    );
    let turns = 0;
    let turn = setImmediate(function count() {
      turns++;
      turn = setImmediate(count);
    });
    const object = { resourceType: "license" };
    await checkPermissions(
      ctx,
      Array.from({ length: 500 }, (_, n) => ({ key: String(n), action: "read", object })),
    );
    clearImmediate(turn);
    expect(turns).to.be.at.least(5);
  });
});
