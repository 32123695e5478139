// What licenses enable and disable, on every surface and every replica, and over time.
// Looks inside: without a license, no caller reads the audit log, and no test waits for the seconds at which licenses end.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { grantsAt } from "../../../src/domain/entitlements/license-grants.js";
import type { LicenseClaims } from "../../../src/domain/licenses/claims.js";
import { organizationRoles, siteRoles } from "../../support/holders.js";
import { type App, ConfigError, logged, ownerPassword, readConfig, startServer } from "../../support/app.js";
import { cloneDatabase, startCluster, type TestDatabase } from "../../support/cluster.js";
import { goodClaims, now, trusting, Vendor } from "../../support/licensing.js";
import { enter, type Part, type Stage } from "../../support/stage.js";
import { eventually } from "../../support/watchers.js";
import { countRows } from "../../support/tables.js";
import { Client, GraphqlFailure, type World, world } from "../../support/world.js";

const path = "/api/v2/licenses";
const day = 86_400;

const entitlementsAt = async (url: string, { token }: { token: string }) =>
  (await new Client(url, token).get("/api/v2/entitlements")).body;

const add = async (w: World, license: string): Promise<number> => {
  const { status, body } = await w.as(w.owner).post(path, { license });
  expect(status, JSON.stringify(body)).to.equal(201);
  return body.id;
};

const removeAll = async (w: World) => {
  const owner = w.as(w.owner);
  for (const { id } of (await owner.get(path)).body)
    expect(await owner.delete(`${path}/${id}`)).to.include({ status: 200 });
};

/** Users of every kind: holders of each role, a member, a member of another organization, an outsider. */
const parts: Record<string, Part> = {
  ...Object.fromEntries(siteRoles.map((role) => [role, { siteRoles: [role] }])),
  ...Object.fromEntries(organizationRoles.map((role) => [role, { roles: [role] }])),
  "plain member": { roles: [] },
  "admin elsewhere": { rolesElsewhere: [...organizationRoles] },
  outsider: {},
};

/** An operation on both surfaces, and the feature that it needs. */
interface Operation {
  name: string;
  feature?: string;
  isForOwners?: true;
  rest: (stage: Stage) => [method: string, path: string, body?: unknown];
  graphql: (stage: Stage) => string;
}

const operations: Operation[] = [
  { name: "entitlements", rest: () => ["GET", "/entitlements"], graphql: () => "{ entitlements { trial } }" },
  { name: "licenses", isForOwners: true, rest: () => ["GET", "/licenses"], graphql: () => "{ licenses { id } }" },
  {
    name: "addLicense",
    isForOwners: true,
    rest: () => ["POST", "/licenses", { license: "a.b" }],
    graphql: () => `mutation { addLicense(input: { license: "a.b" }) { license { id } } }`,
  },
  {
    name: "deleteLicense",
    isForOwners: true,
    rest: () => ["DELETE", "/licenses/2147483647"],
    graphql: () => "mutation { deleteLicense(input: { id: 2147483647 }) { license { id } } }",
  },
  {
    name: "refreshEntitlements",
    isForOwners: true,
    rest: () => ["POST", "/licenses/refresh-entitlements"],
    graphql: () => "mutation { refreshEntitlements { entitlements { trial } } }",
  },
  {
    name: "createGroup",
    feature: "template_rbac",
    rest: ({ organization }) => ["POST", `/organizations/${organization}/groups`, { name: "crew" }],
    graphql: ({ organization }) =>
      `mutation { createGroup(input: { organization: "${organization}", name: "crew" }) { group { id } } }`,
  },
  {
    name: "updateGroup",
    feature: "template_rbac",
    rest: ({ group }) => ["PATCH", `/groups/${group}`, { quota_allowance: 7 }],
    graphql: ({ group }) =>
      `mutation { updateGroup(input: { group: "${group}", quotaAllowance: 7 }) { group { id } } }`,
  },
  {
    name: "setGroupAiBudget",
    feature: "aibridge",
    rest: ({ group }) => ["PUT", `/groups/${group}/ai/budget`, { spend_limit_micros: 7 }],
    graphql: ({ group }) =>
      `mutation { setGroupAiBudget(input: { group: "${group}", spendLimitMicros: 7 }) { __typename } }`,
  },
  {
    name: "updateTemplateAcl",
    feature: "template_rbac",
    rest: ({ template }) => ["PATCH", `/templates/${template}/acl`, {}],
    graphql: ({ template }) => `mutation { updateTemplateAcl(input: { templateId: "${template}" }) { __typename } }`,
  },
  {
    name: "invalidateTemplatePresets",
    feature: "workspace_prebuilds",
    rest: ({ template }) => ["POST", `/templates/${template}/prebuilds/invalidate`],
    graphql: ({ template }) =>
      `mutation { invalidateTemplatePresets(input: { templateId: "${template}" }) { invalidated { presetName } } }`,
  },
  {
    name: "setQuietHours",
    feature: "advanced_template_scheduling",
    rest: ({ victim }) => ["PUT", `/users/${victim}/quiet-hours`, { schedule: "0 3 * * *" }],
    graphql: ({ victim }) =>
      `mutation { setQuietHours(input: { user: "${victim}", schedule: "0 3 * * *" }) { __typename } }`,
  },
];

const codes: Record<number, string> = { 400: "BAD_USER_INPUT", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "CONFLICT" };

/** The outcome of an operation, in terms that the surfaces share. */
interface Outcome {
  code: string;
  message?: string;
}

async function byRest(client: Client, [method, where, body]: ReturnType<Operation["rest"]>): Promise<Outcome> {
  const answer = await client.request(method, `/api/v2${where}`, body);
  if (answer.status < 300) return { code: "OK" };
  return { code: codes[answer.status] ?? String(answer.status), message: answer.body.message };
}

async function byGraphql(client: Client, document: string): Promise<Outcome & { feature?: string }> {
  try {
    await client.graphql(document);
    return { code: "OK" };
  } catch (error) {
    if (!(error instanceof GraphqlFailure)) throw error;
    const { code, feature } = error.errors[0]!.extensions;
    return { code, message: error.errors[0]!.message, ...(feature && { feature }) };
  }
}

/** Runs `work`, which moves the date of this process forward. It goes on from there until the end of `work`. */
async function withMovedDate(work: (moveTo: (time: number) => void) => Promise<void>): Promise<void> {
  const unmoved = Date.now;
  let ahead = 0;
  Date.now = () => unmoved() + ahead;
  try {
    await work((time) => (ahead = time - unmoved()));
  } finally {
    Date.now = unmoved;
  }
}

describe("grants of licenses", () => {
  const begin = 1_800_000_000;
  const end = 1_800_000_100;
  const over = 1_800_000_200;
  const license = (claims: object = {}) =>
    ({ ...goodClaims(), nbf: begin, license_expires: end, exp: over, ...claims }) as LicenseClaims;
  const levelAt = (time: number, ...licenses: LicenseClaims[]) => grantsAt(licenses, time).get("scim")?.level;

  it("begin with the second of their start, are in grace from the end of their term, and end with the license", () => {
    for (const [time, level] of [
      [begin * 1000 - 1, undefined],
      [begin * 1000, "entitled"],
      [end * 1000 - 1, "entitled"],
      [end * 1000, "grace_period"],
      [over * 1000 - 1, "grace_period"],
      [over * 1000, undefined],
      [over * 1000 + day * 1000, undefined],
    ] as const)
      expect(levelAt(time, license()), String(time)).to.equal(level);
  });

  it("are those of the licenses that are left when one ends", () => {
    const long = license({ license_expires: over + 50, exp: over + 100, features: { user_limit: 5 } });
    const both = [license({ features: { user_limit: 9 } }), long];
    const limitAt = (time: number) => grantsAt(both, time * 1000).get("user_limit")?.amount;
    expect([
      limitAt(begin),
      limitAt(end - 1),
      limitAt(end),
      limitAt(over - 1),
      limitAt(over),
      limitAt(over + 100),
    ]).to.deep.equal([9, 9, 5, 5, 5, undefined]);
    expect(levelAt(over * 1000, ...both)).to.equal("entitled");
    expect(levelAt((over + 50) * 1000, ...both)).to.equal("grace_period");
    expect(levelAt(end * 1000, license(), license({ license_expires: end, exp: end }))).to.equal("grace_period");
  });
});

describe("entitlements", () => {
  const vendor = new Vendor();
  const the = world(trusting(vendor));
  afterEach(() => removeAll(the()));

  /** Two stages for users of every kind: one for each surface. */
  const stagesOfAll = () =>
    Promise.all(
      Object.entries(parts).map(async ([who, part]) => {
        const [here, there] = await Promise.all([enter(the(), part), enter(the(), part)]);
        return [who, here, there] as const;
      }),
    );

  /** Returns the outcome for users of every kind; fails unless REST and GraphQL agree. */
  async function outcomes(
    { rest, graphql }: Operation,
    stages = stagesOfAll(),
  ): Promise<Array<[who: string, Outcome & { feature?: string }]>> {
    return Promise.all(
      (await stages).map(async ([who, here, there]) => {
        const { feature, ...said } = await byGraphql(here.client, graphql(here.stage));
        expect(await byRest(there.client, rest(there.stage)), who).to.deep.equal(said);
        return [who, { ...said, ...(feature && { feature }) }] as const;
      }),
    );
  }

  for (const operation of operations) {
    const { name, feature, isForOwners } = operation;
    it(`gate ${name} for the same users in the same way on REST and GraphQL`, async () => {
      // Without its feature, it changes nothing.
      const stages = feature ? stagesOfAll() : undefined;
      const without = await outcomes(operation, stages);
      await add(the(), await vendor.license());
      const licensed = await outcomes(operation, stages);
      // Users without permission see only that; users with permission learn about the license.
      const expected = licensed.map(([who, outcome]) =>
        feature && outcome.code === "OK"
          ? [who, { code: "FORBIDDEN", message: `${feature} is not licensed on this deployment.`, feature }]
          : [who, outcome],
      );
      expect(without).to.deep.equal(expected);
      if (feature) expect(licensed.map(([, { code }]) => code)).to.include("OK");
      for (const [who, outcome] of isForOwners ? licensed : [])
        if (who !== "owner") expect(outcome, who).to.deep.equal({ code: "FORBIDDEN", message: "Forbidden." });
        else expect(outcome.code).to.not.equal("FORBIDDEN");
    });
  }

  it("gate features that exist only in GraphQL: the audit log and additional organizations", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const [member] = await w.users("member");
    const gated: Array<[feature: string, document: string]> = [
      ["audit_log", "{ auditEvents { nodes { id } } }"],
      ["multiple_organizations", `mutation { createOrganization(input: { name: "further" }) { organization { id } } }`],
    ];
    for (const [feature, document] of gated) {
      const failure = await owner.failure(document);
      expect(failure.message).to.equal(`${feature} is not licensed on this deployment.`);
      expect(failure.errors[0]!.extensions).to.include({ code: "FORBIDDEN", feature });
      const denied = await w.as(member!).failure(document);
      expect(denied.message).to.equal("Forbidden.");
      expect(denied.errors[0]!.extensions).to.not.have.property("feature");
    }
    expect(await countRows(w, "audit_events"), "events are still recorded").to.be.above(0);
    await add(w, await vendor.license({ feature_set: "Enterprise" }));
    expect((await owner.graphql(gated[0]![1])).auditEvents.nodes).to.have.length(100);
    expect((await owner.failure(gated[1]![1])).message).to.match(/^multiple_organizations/);
    await add(w, await vendor.license({ feature_set: "PREMIUM" }));
    expect((await owner.graphql(gated[1]![1])).createOrganization.organization.id).to.be.a("string");
  });

  it("keep objects readable and deletable when they lapse, and restore settings with the license", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const [ada] = await w.users("ada");
    const license = await vendor.license();
    const id = await add(w, license);
    const group = await w.group(undefined, { members: [ada!] });
    const budget = `/api/v2/groups/${group.id}/ai/budget`;
    const hours = "/api/v2/users/me/quiet-hours";
    const organization = await w.organization();
    await owner.put(budget, { spend_limit_micros: 9 });
    await w.as(ada!).put(hours, { schedule: "0 3 * * *" });
    await owner.delete(`${path}/${id}`);

    expect((await owner.get(`/api/v2/groups/${group.id}`)).body.members).to.have.length(1);
    expect((await owner.get(budget)).body).to.include({ spend_limit_micros: 9 });
    expect((await w.as(ada!).get(hours)).body[0]).to.include({ time: "00:00", user_set: false, user_can_set: false });
    const back = await add(w, license);
    expect((await w.as(ada!).get(hours)).body[0]).to.include({ time: "03:00", user_set: true, user_can_set: true });
    await owner.delete(`${path}/${back}`);

    expect(await w.as(ada!).put(hours, { schedule: "" })).to.include({ status: 200 });
    expect(await owner.delete(budget)).to.include({ status: 204 });
    expect(await owner.delete(`/api/v2/groups/${group.id}`)).to.include({ status: 200 });
    await owner.graphql(
      `mutation { deleteOrganization(input: { organization: "${organization.id}" }) { __typename } }`,
    );
    await add(w, license);
    expect((await w.as(ada!).get(hours)).body[0]).to.include({ user_set: false });
  });

  it("merge licenses: terms before grace, then higher limits; explicit zeros remove features from a set", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const feature = async (name: string) => (await entitlementsAt(w.url, w.owner)).features[name];
    const t = now();
    const inGrace = { nbf: t - 60 * day, iat: t - 60 * day, license_expires: t - day, exp: t + 9 * day };
    await add(w, await vendor.license({ ...inGrace, features: { user_limit: 900, managed_agent_limit: 40 } }));
    expect(await feature("user_limit")).to.include({ limit: 900, entitlement: "grace_period", enabled: true });
    expect(await feature("scim")).to.include({ entitlement: "grace_period", enabled: true });
    expect((await feature("managed_agent_limit")).usage_period).to.deep.equal({
      issued_at: new Date((t - 60 * day) * 1000).toISOString(),
      start: new Date((t - 60 * day) * 1000).toISOString(),
      end: new Date((t - day) * 1000).toISOString(),
    });

    await add(
      w,
      await vendor.license({ feature_set: "", features: { user_limit: 5, appearance: 3, scim: 0 }, trial: true }),
    );
    expect(await feature("user_limit")).to.include({ limit: 5, entitlement: "entitled" });
    expect(await feature("appearance")).to.deep.equal({ entitlement: "entitled", enabled: true });
    expect(await feature("scim"), "another license grants it").to.include({ entitlement: "grace_period" });
    expect(await entitlementsAt(w.url, w.owner)).to.include({ has_license: true, trial: false });

    await add(w, await vendor.license({ feature_set: "", features: { user_limit: 7 }, require_telemetry: true }));
    expect(await feature("user_limit")).to.include({ limit: 7 });
    expect(await entitlementsAt(w.url, w.owner)).to.include({ require_telemetry: true });

    await removeAll(w);
    await add(w, await vendor.license({ features: { scim: 0, managed_agent_limit: 0 }, trial: true }));
    expect(await feature("scim")).to.deep.equal({ entitlement: "not_entitled", enabled: false });
    expect(await feature("user_limit"), "a limit needs a number").to.include({ entitlement: "not_entitled" });
    expect(await feature("managed_agent_limit")).to.include({ entitlement: "entitled", limit: 0, actual: 0 });
    expect(await entitlementsAt(w.url, w.owner)).to.include({ trial: true, has_license: true });
    expect((await owner.get(path)).body).to.have.length(1);
  });

  it("warn about ending terms, grace, limits, and unlicensed use", async () => {
    const w = the();
    const warnings = async () => (await entitlementsAt(w.url, w.owner)).warnings as string[];
    const t = now();
    const at = (second: number) => new Date(second * 1000).toISOString();
    const one = (claims: object) => vendor.license({ feature_set: "", features: { audit_log: 1 }, ...claims });
    const unused = (await warnings()).filter((text) => !/in use/.test(text));
    expect(unused).to.deep.equal([]);
    expect(await warnings()).to.include("multiple_organizations is in use, but not licensed.");

    await add(w, await one({ license_expires: t + 31 * day }));
    expect((await warnings()).filter((text) => /audit_log/.test(text))).to.deep.equal([]);
    await removeAll(w);
    await add(w, await one({ license_expires: t + 29 * day }));
    expect(await warnings()).to.include(`The license term ends at ${at(t + 29 * day)}: audit_log.`);
    await add(w, await one({ nbf: t + 28 * day }));
    expect(
      (await warnings()).filter((text) => /audit_log/.test(text)),
      "a later license goes on",
    ).to.deep.equal([]);
    await removeAll(w);
    await add(w, await one({ license_expires: t + 8 * day, trial: true }));
    expect(
      (await warnings()).filter((text) => /audit_log/.test(text)),
      "trials are announced later",
    ).to.deep.equal([]);
    await removeAll(w);
    await add(w, await one({ license_expires: t + 6 * day, trial: true }));
    expect(await warnings()).to.include(`The license term ends at ${at(t + 6 * day)}: audit_log.`);
    await removeAll(w);
    await add(w, await one({ license_expires: t - 5, exp: t + 9 * day }));
    expect(await warnings()).to.include(
      `The license term is over, and the grace period ends at ${at(t + 9 * day)}: audit_log.`,
    );
    await add(w, await one({}));
    expect((await warnings()).filter((text) => /audit_log/.test(text))).to.deep.equal([]);

    await add(w, await one({ features: { user_limit: 1, multiple_organizations: 1 } }));
    const { actual } = (await entitlementsAt(w.url, w.owner)).features.user_limit;
    expect(await warnings())
      .to.include(`There are ${actual} active users; the license is for 1.`)
      .and.not.include("multiple_organizations is in use, but not licensed.");
  });

  it("begin, enter grace, and end with the clock, without a restart", async () => {
    const w = the();
    const t = now();
    // Each state lasts longer than it takes to see it: the clock is moved to half a second before its end.
    const step = 300;
    const begin = t + step;
    const times = { iat: t, nbf: begin, license_expires: begin + step, exp: begin + 2 * step };
    await add(w, await vendor.sign({ ...goodClaims(), ...times }));
    const create = (name: string) => w.as(w.owner).post("/api/v2/organizations/default/groups", { name });
    const known = () => w.app.services.entitlements.current.features.find(({ name }) => name === "template_rbac")!;
    const state = async () => (await entitlementsAt(w.url, w.owner)).features.template_rbac.entitlement;
    const seen: string[] = [await state()];
    const warned = new Map<string, string[]>();
    await withMovedDate(async (moveTo) => {
      for (const second of [times.nbf, times.license_expires, times.exp]) {
        moveTo(second * 1000 - 500);
        // Computes when they change next, by the clock as it is now.
        expect(await w.as(w.owner).post(`${path}/refresh-entitlements`)).to.include({ status: 201 });
        await eventually(() => known().entitlement !== seen.at(-1), `another state than ${seen.at(-1)}`, 15_000);
        const current = await entitlementsAt(w.url, w.owner);
        const { entitlement } = current.features.template_rbac;
        seen.push(entitlement);
        warned.set(entitlement, current.warnings);
        const { status } = await create(`group-${seen.length}`);
        expect(status, entitlement).to.equal(entitlement === "not_entitled" ? 403 : 201);
      }
    });
    expect(seen).to.deep.equal(["not_entitled", "entitled", "grace_period", "not_entitled"]);
    expect(warned.get("grace_period")!.join("\n")).to.match(/grace period ends at .*template_rbac/);
    expect((await w.as(w.owner).get(path)).body, "the license is still listed").to.have.length(1);
  });
});

describe("entitlements after deletions", () => {
  const vendor = new Vendor();
  const the = world(trusting(vendor));

  it("warn about no use by users who were deleted", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const [ada] = await w.users("ada");
    const warnings = async () => (await entitlementsAt(w.url, w.owner)).warnings as string[];
    const warning = "advanced_template_scheduling is in use, but not licensed.";
    await add(w, await vendor.license());
    await w.as(ada!).put("/api/v2/users/me/quiet-hours", { schedule: "0 3 * * *" });
    await removeAll(w);
    await add(w, await vendor.license({ feature_set: "", features: { audit_log: 1 } }));
    expect(await warnings()).to.include(warning);
    await owner.graphql("mutation($id: String!) { deleteUser(input: { user: $id }) { __typename } }", { id: ada!.id });
    await owner.post(`${path}/refresh-entitlements`);
    expect(await warnings()).to.not.include(warning);
  });
});

describe("entitlements of two replicas", () => {
  const vendor = new Vendor();
  const settings = trusting(vendor);
  const the = world(settings);
  let other: App;
  before(async () => {
    other = await startServer(the().database.url, settings);
  });
  after(() => other.close());

  it("follow licenses that are added or deleted on either one", async () => {
    const w = the();
    const there = new Client(other.url, w.owner.token);
    await add(w, await vendor.license({ features: { template_rbac: 0 } }));
    const create = (name: string) => w.as(w.owner).post("/api/v2/organizations/default/groups", { name });
    const refused = await create("too-early");
    expect(refused).to.include({ status: 403 });
    expect(refused.body.message).to.equal("template_rbac is not licensed on this deployment.");

    const { body } = await there.post(path, { license: await vendor.license() });
    await eventually(async () => (await create("in-time")).status === 201, "the license is effective here");
    expect(await w.as(w.owner).delete(`${path}/${body.id}`)).to.include({ status: 200 });
    await eventually(
      async () => (await there.post("/api/v2/organizations/default/groups", { name: "late" })).status === 403,
      "the license is gone there",
    );
  });

  it("recount users on both when one is refreshed", async () => {
    const w = the();
    const there = { token: w.owner.token };
    const actual = async () => (await entitlementsAt(other.url, there)).features.user_limit.actual;
    const before = await actual();
    await w.users("ada", "bob");
    expect(await w.as(w.owner).post(`${path}/refresh-entitlements`)).to.include({ status: 201 });
    await eventually(async () => (await actual()) === before + 2, "the other replica counts");
  });
});

describe("entitlements over restarts", () => {
  let database: TestDatabase;
  before(async () => {
    database = await cloneDatabase();
  });
  const vendor = new Vendor("old");
  const successor = new Vendor("new");
  after(() => database.drop());

  /** Runs `story` with a server on the database. */
  async function during(settings: NodeJS.ProcessEnv, story: (app: App, owner: Client) => Promise<void>) {
    const app = await startServer(database.url, settings);
    try {
      const login = { email: "owner@example.com", password: ownerPassword };
      const { body } = await new Client(app.url).post("/api/v2/users/login", login);
      await story(app, new Client(app.url, body.session_token));
    } finally {
      await app.close();
    }
  }

  const features = async (owner: Client) => (await owner.get("/api/v2/entitlements")).body;

  it("store the license of the settings if there is none, and recognize it later", async () => {
    const license = await vendor.license();
    for (const _ of ["first", "second"])
      await during({ ...trusting(vendor), STEWARD_LICENSE: license }, async (_app, owner) => {
        expect((await owner.get(path)).body).to.have.length(1);
        expect((await features(owner)).features.scim.entitlement).to.equal("entitled");
      });
    await during(
      { ...trusting(vendor), STEWARD_LICENSE: await vendor.license({ account_id: "other" }) },
      async (_, owner) => {
        expect(
          (await owner.get(path)).body.map(({ claims }: { claims: { account_id: string } }) => claims.account_id),
        ).to.deep.equal(["acme"]);
        const { auditEvents } = await owner.graphql(
          `{ auditEvents(filter: { resourceType: "license" }) { nodes { action actorKind } } }`,
        );
        expect(auditEvents.nodes).to.deep.equal([{ action: "CREATE", actorKind: "system" }]);
      },
    );
  });

  it("list licenses whose key is no longer trusted, which can be deleted", async () => {
    await during(trusting(successor), async (_, owner) => {
      const { errors, has_license, features: all } = await features(owner);
      const [{ id }] = (await owner.get(path)).body;
      expect(errors).to.deep.equal([`License ${id}: The key "old" is not one that this deployment trusts.`]);
      expect(has_license).to.equal(false);
      expect(all.scim.entitlement).to.equal("not_entitled");
      expect(await owner.delete(`${path}/${id}`)).to.include({ status: 200 });
      expect((await features(owner)).errors).to.deep.equal([]);
    });
  });

  it("evaluate licenses that were stored without trusted keys", async () => {
    await during({}, async (_, owner) => {
      for (const license of [
        await vendor.license({ iss: "x" }),
        await vendor.license({ deployment_ids: ["x"] }),
        await vendor.license(),
      ])
        expect(await owner.post(path, { license })).to.include({ status: 201 });
      expect(
        await owner.post(path, { license: await vendor.license({ exp: 7, license_expires: 6, nbf: 5 }) }),
      ).to.include({ status: 201 });
    });
    await during(trusting(vendor), async (_, owner) => {
      const { errors, has_license } = await features(owner);
      expect(errors).to.have.length(2);
      expect(errors[0]).to.match(/^License \d+: iss must be "steward"\.$/);
      expect(errors[1]).to.match(/^License \d+: It is for another deployment\.$/);
      expect(has_license).to.equal(true);
    });
  });

  it("are disabled for features that are licensed but switched off", async () => {
    for (const settings of [{}, trusting(vendor)])
      await during({ ...settings, STEWARD_CONNECTION_LOG: "false" }, async (_, owner) => {
        const { connection_log, audit_log } = (await features(owner)).features;
        expect(connection_log).to.deep.equal({ entitlement: "entitled", enabled: false });
        expect(audit_log).to.deep.equal({ entitlement: "entitled", enabled: true });
      });
  });

  it("say why a license of the settings is rejected, unless it has merely expired", async () => {
    const fresh = await cloneDatabase();
    const start = (license: string) => startServer(fresh.url, { ...trusting(vendor), STEWARD_LICENSE: license });
    const refusal = await start(await successor.license()).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(refusal).to.be.instanceOf(ConfigError);
    expect(refusal!.message).to.match(/STEWARD_LICENSE: The key "new" is not one/);
    const app = await start(await vendor.license({ exp: now() - 1 }));
    expect(app.services.entitlements.current.hasLicense).to.equal(false);
    expect(logged.map(({ msg }) => msg)).to.include("STEWARD_LICENSE has expired: it is not stored.");
    await app.close();
    await fresh.drop();
  });
});

describe("entitlements without the database", () => {
  const vendor = new Vendor();

  it("keep their last state, and are computed again once it is back", async () => {
    const directory = await mkdtemp(join(tmpdir(), "steward-licenses-"));
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const start = () => startCluster({ directory, fsync: false, log });
    let cluster = await start();
    const app = await startServer(cluster.url, { ...trusting(vendor), STEWARD_LICENSE: await vendor.license() });
    try {
      const { entitlements } = app.services;
      const { refreshedAt } = entitlements.current;
      await cluster.stop();
      const failure = await entitlements.refresh().then(
        () => undefined,
        (error: Error) => error,
      );
      expect(failure).to.be.instanceOf(Error);
      expect(entitlements.grants("scim")).to.equal(true);
      expect(entitlements.current.refreshedAt).to.equal(refreshedAt);
      cluster = await start();
      await eventually(() => entitlements.current.refreshedAt > refreshedAt, "they are computed again", 20_000);
      expect(entitlements.grants("scim")).to.equal(true);
    } finally {
      await app.close();
      await cluster.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});

describe("license settings", () => {
  const { jwk } = new Vendor();
  const keys = (...members: object[]) => JSON.stringify({ keys: members });
  const bad: Record<string, string> = {
    "text that is not JSON": "keys",
    "JSON that is not a key set": "[]",
    "an empty key set": keys(),
    "a key without an id": keys({ ...jwk, kid: undefined }),
    "two keys with one id": keys(jwk, new Vendor().jwk),
    "a key of another kind": keys({ kty: "EC", crv: "P-256", kid: "k", x: jwk.x, y: jwk.x }),
    "a key of another curve": keys({ ...jwk, crv: "X25519" }),
    "a key of another length": keys({ ...jwk, x: "AAAA" }),
    "a private key": keys({ ...jwk, d: jwk.x }),
    "a key that is null": '{"keys":[null]}',
  };

  for (const [what, text] of Object.entries(bad))
    it(`reject ${what} together with all other faults, without revealing it`, () => {
      const read = () => readConfig({ STEWARD_LICENSE_KEYS: text, STEWARD_LICENSE: "a.b", STEWARD_PORT: "x" });
      expect(read).to.throw(ConfigError, /STEWARD_LICENSE_KEYS must be a JWKS of Ed25519 public keys/);
      expect(read)
        .to.throw(ConfigError, /STEWARD_LICENSE must be a license/)
        .with.property("message")
        .that.matches(/STEWARD_PORT/)
        .and.does.not.include(jwk.x);
    });

  it("accept several keys", () => {
    const { licenseKeys } = readConfig({ STEWARD_LICENSE_KEYS: keys(jwk, new Vendor("k2").jwk) });
    expect([...licenseKeys!.keys()]).to.deep.equal(["k1", "k2"]);
    expect(readConfig({})).to.include({ licenseKeys: undefined, license: undefined });
  });
});
