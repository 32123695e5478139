// Licenses on servers that enforce none, and how they are verified and applied on servers that do.
// Reaches for tables: a thousand licenses.
import { expect } from "chai";
import { newId } from "./support/ids.js";
import { goodClaims, madeUp, now, second, trusting, Vendor } from "./support/licensing.js";
import { bytes } from "./support/oauth2.js";
import { insert } from "./support/stage.js";
import { countRows, deleteRows } from "./support/tables.js";
import { hashSecret } from "./support/token-rows.js";
import { type Person, type World, world } from "./support/world.js";

const path = "/api/v2/licenses";
const addLicense = `mutation($license: String!) {
  addLicense(input: { license: $license }) { license { id uuid uploadedAt claims } } }`;
const deleteLicense = "mutation($id: Int!) { deleteLicense(input: { id: $id }) { license { id uuid } } }";

const entitlementsOf = async (w: World) => (await w.as(w.owner).get("/api/v2/entitlements")).body;

const history = async (w: World, id: number) =>
  (
    await w.as(w.owner).graphql(
      `query($id: String) { auditEvents(filter: { resourceType: "license", resourceId: $id }) {
        nodes { action actorId resourceLabel diff } } }`,
      { id: String(id) },
    )
  ).auditEvents.nodes.toReversed();

const names = [
  "user_limit",
  "managed_agent_limit",
  "audit_log",
  "connection_log",
  "scim",
  "template_rbac",
  "aibridge",
  "multiple_organizations",
  "multiple_external_auth",
  "external_provisioner_daemons",
  "appearance",
  "advanced_template_scheduling",
  "workspace_proxy",
  "workspace_prebuilds",
  "workspace_external_agent",
];

describe("licenses on a server that enforces none", () => {
  const the = world();

  it("leave every feature enabled and unlimited", async () => {
    const w = the();
    const [ada] = (await w.users("ada")) as [Person];
    const { body, status } = await w.as(ada).get("/api/v2/entitlements");
    expect(status).to.equal(200);
    const { features, refreshed_at, ...rest } = body;
    expect(rest).to.deep.equal({
      errors: [],
      warnings: [],
      has_license: false,
      trial: false,
      require_telemetry: false,
    });
    expect(Date.parse(refreshed_at)).to.be.at.most(Date.now());
    expect(Object.keys(features)).to.deep.equal(names);
    const { user_limit, managed_agent_limit, ...switches } = features;
    for (const [name, feature] of Object.entries(switches))
      expect(feature, name).to.deep.equal({ enabled: true, entitlement: "entitled" });
    expect(user_limit).to.deep.equal({ enabled: true, entitlement: "entitled", actual: 1 });
    const month = new Date(refreshed_at);
    expect(managed_agent_limit).to.deep.equal({
      enabled: true,
      entitlement: "entitled",
      actual: 0,
      usage_period: {
        start: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth())).toISOString(),
        end: new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1)).toISOString(),
      },
    });
    expect(await w.nobody.get("/api/v2/entitlements")).to.include({ status: 401 });
  });

  it("count active users, without service accounts and system identities", async () => {
    const w = the();
    const actual = async () => {
      await w.as(w.owner).post(`${path}/refresh-entitlements`);
      return (await entitlementsOf(w)).features.user_limit.actual;
    };
    const before = await actual();
    const [ada, bob] = (await w.users("ada", "bob")) as [Person, Person];
    const owner = w.as(w.owner);
    await owner.graphql(
      `mutation { createUser(input: { email: "bot@example.com", username: "bot", isServiceAccount: true }) { __typename } }`,
    );
    expect(await actual()).to.equal(before + 2);
    await owner.graphql("mutation($id: String!) { suspendUser(input: { user: $id }) { __typename } }", { id: ada.id });
    expect(await actual()).to.equal(before + 1);
    await owner.graphql("mutation($id: String!) { deleteUser(input: { user: $id }) { __typename } }", { id: bob.id });
    expect(await actual()).to.equal(before);
  });

  it("are stored unverified, grant nothing, and can be deleted", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const { refreshed_at: _, ...before } = await entitlementsOf(w);
    const claims = {
      jti: newId().toUpperCase(),
      anything: [1, { ü: "\u0000" }],
      trial: "perhaps",
      exp: 7,
      nested: null,
    };
    const license = madeUp(claims);
    const added = await owner.post(path, { license });
    expect(added).to.include({ status: 201 });
    const { id, uploaded_at } = added.body;
    expect(added.body).to.deep.equal({ claims, id, uploaded_at, uuid: claims.jti.toLowerCase() });
    expect((await owner.get(path)).body).to.deep.equal([added.body]);
    expect(JSON.stringify((await owner.get(path)).body)).to.not.include(license);

    const again = await owner.post(path, { license });
    expect(again).to.include({ status: 409 });
    expect(again.body.validations).to.deep.equal([{ field: "license", detail: "This license is stored already." }]);
    const { refreshed_at: __, ...after } = await entitlementsOf(w);
    expect(after).to.deep.equal(before);

    const deleted = await owner.delete(`${path}/${id}`);
    expect(deleted).to.deep.include({ status: 200, body: "" });
    expect(await owner.delete(`${path}/${id}`)).to.include({ status: 404 });
    expect((await owner.get(path)).body).to.deep.equal([]);
    expect(await history(w, id)).to.deep.equal([
      { action: "CREATE", actorId: w.owner.id, resourceLabel: added.body.uuid, diff: {} },
      { action: "DELETE", actorId: w.owner.id, resourceLabel: added.body.uuid, diff: {} },
    ]);
  });

  it("are the same in GraphQL", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const claims = { jti: "seven", exp: "whenever" };
    const { license } = (await owner.graphql(addLicense, { license: madeUp(claims) })).addLicense;
    expect(license.claims).to.deep.equal(claims);
    expect(license.uuid).to.match(/^[0-9a-f-]{36}$/);
    const [listed] = (await owner.get(path)).body;
    expect(listed).to.deep.equal({ id: license.id, uuid: license.uuid, uploaded_at: license.uploadedAt, claims });
    expect((await owner.graphql("{ licenses { id uuid uploadedAt claims } }")).licenses).to.deep.equal([license]);
    const times = "{ licenses { expiresAt gracePeriodEndsAt } }";
    expect((await owner.graphql(times)).licenses).to.deep.equal([{ expiresAt: null, gracePeriodEndsAt: null }]);
    const failure = await owner.failure(addLicense, { license: madeUp(claims) });
    expect(failure.code).to.equal("CONFLICT");
    expect((await owner.graphql(deleteLicense, { id: license.id })).deleteLicense.license).to.deep.equal({
      id: license.id,
      uuid: license.uuid,
    });
    expect((await owner.failure(deleteLicense, { id: license.id })).code).to.equal("NOT_FOUND");
    const { features, ...rest } = (
      await owner.graphql(`{ entitlements { features { name entitlement enabled limit actual usagePeriod { issuedAt start end } }
        errors warnings hasLicense trial requireTelemetry refreshedAt } }`)
    ).entitlements;
    const { features: wire } = await entitlementsOf(w);
    expect(features.map(({ name }: { name: string }) => name)).to.deep.equal(Object.keys(wire));
    for (const { name, entitlement, enabled, actual } of features)
      expect({ entitlement: entitlement.toLowerCase(), enabled, actual: actual ?? undefined }, name).to.deep.equal({
        entitlement: wire[name].entitlement,
        enabled: wire[name].enabled,
        actual: wire[name].actual,
      });
    expect(rest).to.include({ hasLicense: false, trial: false, requireTelemetry: false });
  });

  it("are rejected unless they are JWTs", async () => {
    const w = the();
    const deep = (levels: number) => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    const good = madeUp({ a: 1 });
    const bad: unknown[] = [
      undefined,
      null,
      "",
      "a.b",
      "a.b.c",
      5,
      good.replace(/\.[^.]*$/, "."),
      `.${good.split(".").slice(1).join(".")}`,
      `${good}.x`,
      `${good}=`,
      // The unused bits of the last character are set: another spelling of the same bytes.
      good.replace(/[^.]*$/, "c2lnbmF0dXJlcx"),
      madeUp("[]"),
      madeUp("null"),
      madeUp("5"),
      madeUp("{"),
      madeUp({}, "[]"),
      madeUp(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString("latin1"), "nonsense"),
      madeUp(deep(32)),
      madeUp(deep(6_000)),
      madeUp({ long: "x".repeat(12_300) }),
      "é.".repeat(3),
    ];
    for (const license of bad) {
      const about = JSON.stringify(license)?.slice(0, 60) ?? "absent";
      const { status, body } = await w.as(w.owner).post(path, { license });
      expect(status, about).to.equal(400);
      expect(body.validations, about).to.have.length(1);
      expect(body.validations[0].field, about).to.equal("license");
      if (typeof license === "string" && license !== "") expect(JSON.stringify(body), about).to.not.include(license);
    }
    const failure = await w.as(w.owner).failure(addLicense, { license: "a.b" });
    expect(failure.errors[0]!.extensions.validations[0]!.field).to.equal("input.license");
    expect(await w.as(w.owner).post(path, { license: madeUp(deep(31)) })).to.include({ status: 201 });
    expect(await w.as(w.owner).get(path)).to.include({ status: 200 });
  });

  it("are addressed by number: 400 for malformed ids, 404 for unknown ones", async () => {
    const w = the();
    const owner = w.as(w.owner);
    for (const id of ["x", "1.5", "1e3", "99999999999", "0x1", "%20"])
      expect(await owner.delete(`${path}/${id}`), id).to.include({ status: 400 });
    for (const id of ["0", "-1", "2147483647"])
      expect(await owner.delete(`${path}/${id}`), id).to.include({ status: 404 });
  });

  it("have one spelling of their id: signs and leading zeros are rejected", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const { id } = (await owner.post(path, { license: madeUp({ jti: newId() }) })).body;
    for (const spelling of [`0${id}`, `00000000000000${id}`, `+${id}`, `-0${id}`])
      expect(await owner.delete(`${path}/${spelling}`), spelling).to.include({ status: 400 });
    expect(await owner.delete(`${path}/${id}`)).to.include({ status: 200 });
  });

  it("are reevaluated on each refresh, without an audit event", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const count = () => countRows(w, "audit_events");
    const [events, { refreshed_at: before }] = [await count(), await entitlementsOf(w)];
    for (const _ of [1, 2]) {
      const { status, body } = await owner.post(`${path}/refresh-entitlements`);
      expect({ status, body }).to.deep.equal({ status: 201, body: { message: "Entitlements updated." } });
    }
    expect(Date.parse((await entitlementsOf(w)).refreshed_at)).to.be.above(Date.parse(before));
    const { refreshed_at: shared } = await entitlementsOf(w);
    const refresh = "mutation { refreshEntitlements { entitlements { refreshedAt } } }";
    const { entitlements } = (await owner.graphql(refresh)).refreshEntitlements;
    expect(Date.parse(entitlements.refreshedAt)).to.be.above(Date.parse(shared));
    expect(await count()).to.equal(events);
  });

  it("are stored once and limited to 1000, even under concurrent uploads", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const license = madeUp({ at: "once" });
    const twins = await Promise.all([1, 2, 3, 4].map(() => owner.post(path, { license })));
    expect(twins.map(({ status }) => status)).to.have.members([201, 409, 409, 409]);

    const fillers = Array.from({ length: 998 - (await countRows(w, "licenses")) }, (_, n) => ({
      uuid: newId(),
      token: license,
      token_sha256: bytes(hashSecret(String(n))),
      uploaded_at: "now",
    }));
    await insert(w, { licenses: fillers });
    const last = await Promise.all([1, 2, 3, 4].map((n) => owner.post(path, { license: madeUp({ n }) })));
    expect(last.map(({ status }) => status)).to.have.members([201, 201, 409, 409]);
    expect((await owner.get(path)).body).to.have.length(1000);
    await deleteRows(w, "licenses", {});
  });
});

describe("licenses on a server that enforces them", () => {
  const vendor = new Vendor();
  const other = new Vendor("k2");
  const the = world(trusting(vendor, other));
  const details = async (license: string) => {
    const w = the();
    const { status, body } = await w.as(w.owner).post(path, { license });
    expect(status).to.equal(400);
    for (const { field } of body.validations) expect(field).to.equal("license");
    return {
      message: body.message as string,
      details: body.validations.map((each: { detail: string }) => each.detail),
    };
  };
  const remove = async (id: number) => the().as(the().owner).delete(`${path}/${id}`);

  it("take effect as soon as they are added or deleted", async () => {
    const w = the();
    const owner = w.as(w.owner);
    const enabled = async () => {
      const { features } = await entitlementsOf(w);
      return names.filter((name) => features[name].enabled);
    };
    expect(await enabled()).to.deep.equal([]);
    const { body } = await owner.post(path, { license: await vendor.license({ features: { user_limit: 5 } }) });
    expect(await enabled()).to.deep.equal(names.filter((name) => name !== "managed_agent_limit"));
    expect((await entitlementsOf(w)).features.user_limit).to.include({ limit: 5, entitlement: "entitled" });
    expect(await remove(body.id)).to.include({ status: 200 });
    expect(await enabled()).to.deep.equal([]);
    const { addLicense: added } = await owner.graphql(addLicense, { license: await other.license() });
    expect(await enabled()).to.include("template_rbac");
    const [license] = (await owner.graphql("{ licenses { expiresAt gracePeriodEndsAt claims } }")).licenses;
    expect(Date.parse(license!.expiresAt)).to.equal(license!.claims.license_expires * second);
    expect(Date.parse(license!.gracePeriodEndsAt)).to.equal(license!.claims.exp * second);
    await owner.graphql(deleteLicense, { id: added.license.id });
    expect(await enabled()).to.deep.equal([]);
  });

  it("must be signed, unmodified, and within their validity", async () => {
    const genuine = await vendor.license();
    const [header, payload, signature] = genuine.split(".") as [string, string, string];
    const changed = Buffer.from(payload, "base64url");
    changed[changed.indexOf('"acme"') + 1]!++;
    const oneOf = async (token: string, rule: RegExp) => {
      const faults = (await details(token)).details;
      expect(faults).to.have.length(1);
      expect(faults[0]).to.match(rule);
    };
    await oneOf(`${header}.${changed.toString("base64url")}.${signature}`, /signature/);
    await oneOf(await vendor.sign(goodClaims(), { kid: "k2" }), /signature/);
    await oneOf(await vendor.sign(goodClaims(), { kid: "k3" }), /key "k3"/);
    await oneOf(await vendor.sign(goodClaims(), { kid: undefined }), /name the key/);
    await oneOf(await vendor.sign(goodClaims(), { typ: "JWT" }), /type must be steward-license\+jwt/);
    await oneOf(await vendor.sign(goodClaims(), { typ: undefined }), /type must be/);
    await oneOf(await vendor.license({ exp: now() - 1, license_expires: now() - 5 }), /expired/);
    await oneOf("a.b", /JWT/);
    expect((await details(madeUp(goodClaims(), { alg: "none", typ: "JWT", kid: "k9" }))).details).to.have.length(3);
    expect(
      (await details(madeUp(goodClaims(), { alg: "HS256", typ: "steward-license+jwt", kid: "k1" }))).details,
    ).to.deep.equal(["The algorithm must be EdDSA or Ed25519."]);
  });

  it("may name the algorithm either way, and hold unknown claims", async () => {
    const w = the();
    for (const header of [{ alg: "Ed25519" }, { alg: "EdDSA", unknown: 1 }]) {
      const claims = { ...goodClaims(), unknown: { anything: 1 }, features: { teleportation: 1, scim: -1 } };
      const { status, body } = await w.as(w.owner).post(path, { license: await vendor.sign(claims, header) });
      expect(status).to.equal(201);
      expect(body.claims).to.deep.equal(claims);
      expect((await entitlementsOf(w)).features.scim.enabled, "negative numbers are ignored").to.equal(true);
      await remove(body.id);
    }
  });

  it("must have valid claims, with all faults reported together", async () => {
    const t = now();
    const year = 365 * 86_400;
    const faulty: Array<[claims: object, ...faulty: string[]]> = [
      [{ iss: "somebody" }, "iss"],
      [{ version: "1" }, "version"],
      [{ iat: 1.5 }, "iat"],
      [{ iat: undefined }, "iat"],
      [{ nbf: String(t) }, "nbf"],
      [{ exp: undefined }, "exp"],
      [{ exp: 1e300 }, "exp"],
      [{ license_expires: null }, "license_expires"],
      [{ nbf: t + 500, exp: t + 400, license_expires: t + 300 }, "nbf", "license_expires"],
      [{ license_expires: t + 396 * 86_400 }, "license_expires"],
      [{ nbf: t, license_expires: t }, "license_expires"],
      [{ license_expires: t + 5 * year + 3 * 86_400, exp: t + 6 * year }, "license_expires"],
      [{ account_type: "" }, "account_type"],
      [{ account_id: "x".repeat(201) }, "account_id"],
      [{ account_id: 5, account_type: undefined }, "account_type", "account_id"],
      [{ jti: 5 }, "jti"],
      [{ sub: "nobody" }, "sub"],
      [{ deployment_ids: "all" }, "deployment_ids"],
      [{ deployment_ids: [5] }, "deployment_ids"],
      [{ feature_set: "gold" }, "feature_set"],
      [{ features: [] }, "features"],
      [{ features: { scim: true } }, "features"],
      [{ features: { scim: 1.5 } }, "features"],
      [{ features: { user_limit: 2 ** 31 } }, "features"],
      [{ trial: "yes" }, "trial"],
      [{ require_telemetry: 1 }, "require_telemetry"],
    ];
    for (const [claims, ...expected] of faulty) {
      const { message, details: found } = await details(await vendor.license(claims));
      expect(message).to.equal("Validation failed.");
      expect(
        found.map((detail: string) => detail.split(" ")[0]),
        JSON.stringify(claims),
      ).to.deep.equal(expected);
    }
    expect((await details(await vendor.sign({}))).details).to.have.length(8);
  });

  it("are accepted only on the deployments that they name", async () => {
    const w = the();
    const { serverInfo } = await w.nobody.graphql("{ serverInfo { deploymentId } }");
    const refused = await details(await vendor.license({ deployment_ids: [newId()] }));
    expect(refused.message).to.equal("License cannot be used on this deployment.");
    for (const deployment_ids of [[newId(), serverInfo.deploymentId.toUpperCase()], []]) {
      const { status, body } = await w.as(w.owner).post(path, { license: await vendor.license({ deployment_ids }) });
      expect(status).to.equal(201);
      await remove(body.id);
    }
  });
});
