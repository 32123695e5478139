// SCIM against hostile input: it is rejected in bounded time, and the server lives on.
// Reaches for tables: keys are stored nowhere as text, and expire.
import { expect } from "chai";
import { audited } from "./support/audit.js";
import { makeScimKey, newScimUser, ScimClient, scimClient } from "./support/scim.js";
import { setTimes, storedText } from "./support/tables.js";
import { world } from "./support/world.js";

describe("hostile SCIM requests", () => {
  const w = world();
  let scim: ScimClient;
  let path: string;
  before(async () => {
    scim = await scimClient(w());
    path = `/Users/${(await scim.post("/Users", newScimUser())).body.id}`;
  });

  it("reach no prototype", async () => {
    const bodies = [
      '{"__proto__":{"x":1},"userName":"a@b.example"}',
      '{"userName":"a@b.example","name":{"constructor":{"prototype":{"x":1}}}}',
      '{"userName":"a@b.example","constructor.prototype.x":1}',
    ];
    for (const body of bodies) {
      const { status, body: failure } = await scim.post("/Users", body);
      expect([status, failure.scimType], body).to.deep.equal([400, "invalidPath"]);
    }
    for (const operation of [
      { op: "add", path: "constructor.prototype.x", value: 1 },
      { op: "add", path: "__proto__.x", value: 1 },
      { op: "replace", value: { "__proto__.x": 1 } },
    ]) {
      const { status, body } = await scim.change(path, operation);
      expect([status, body.scimType], JSON.stringify(operation)).to.deep.equal([400, "invalidPath"]);
    }
    const { document } = { document: JSON.parse('{"__proto__":{"x":1}}') };
    const failure = await w()
      .as(w().owner)
      .failure("mutation($document: JSONObject!) { createScimUser(input: { document: $document }) { __typename } }", {
        document,
      });
    expect(failure.errors[0]!.extensions).to.include({ code: "BAD_USER_INPUT" });
    expect(({} as Record<string, unknown>).x).to.equal(undefined);
  });

  it("are bounded in size, depth, and number", async () => {
    const deep = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
    const cases: Array<[expected: number, answer: () => Promise<{ status: number }>]> = [
      [400, () => scim.get(`/Users?filter=${"(".repeat(7_000)}`)],
      [400, () => scim.post("/Users/.search", { filter: "(".repeat(20_000) })],
      [400, () => scim.post("/Users/.search", { filter: "not (".repeat(800) })],
      [400, () => scim.change(path, { op: "add", path: `emails[${"(".repeat(3_000)}`, value: "x" })],
      [400, () => scim.post("/Users", deep(33))],
      [400, () => scim.post("/Users", deep(100_000))],
      [400, () => scim.post("/Users", newScimUser({ title: "x".repeat(9_000) }))],
      [400, () => scim.post("/Users", newScimUser({ title: "a\0b" }))],
      [400, () => scim.post("/Users", newScimUser({ title: "\ud800" }))],
      [400, () => scim.post("/Users", newScimUser({ userName: "x".repeat(300) }))],
      [400, () => scim.post("/Users", newScimUser({ externalId: "é".repeat(600) }))],
      [400, () => scim.post("/Users", newScimUser({ roles: Array.from({ length: 101 }, () => ({ value: "r" })) }))],
      [
        400,
        () =>
          scim.post("/Users", newScimUser({ roles: Array.from({ length: 20 }, () => ({ value: "r".repeat(8_000) })) })),
      ],
      [400, () => scim.change(path, ...Array.from({ length: 1001 }, () => ({ op: "add", path: "title", value: "x" })))],
      [400, () => scim.get("/Users?count=99999999999999999999")],
      [200, () => scim.get("/Users?count=2147483647&startIndex=2147483647")],
      [413, () => scim.post("/Users", newScimUser({ title: "x".repeat(4_200_000) }))],
      [400, () => scim.get("/Users?filter=userName%20eq%20%22%00%22")],
      [400, () => scim.get("/Users?sortBy=__proto__")],
      [404, () => scim.get("/Users/__proto__")],
      [400, () => scim.get(`/Users?cursor=${"A".repeat(5_000)}`)],
    ];
    for (const [n, [status, send]] of cases.entries()) expect((await send()).status, `case ${n}`).to.equal(status);
    expect(await scim.get(path)).to.include({ status: 200 });
  });

  it("never suspend a user by a malformed or missing status", async () => {
    for (const active of ["0", 0, "no", {}, [], [false]])
      expect((await scim.change(path, { op: "replace", value: { active } })).status, JSON.stringify(active)).to.equal(
        400,
      );
    for (const active of [null, ""]) await scim.change(path, { op: "replace", path: "active", value: active });
    await scim.put(path, { userName: "still.active@x.example", active: null });
    expect((await scim.get(path)).body).to.include({ active: true });
  });

  it("never cause a request to another host, and make no avatar of insecure photos", async () => {
    const photos = [{ value: "http://127.0.0.1:1/a.png", primary: true }];
    const { body } = await scim.change(path, { op: "add", value: { photos, profileUrl: "http://127.0.0.1:1/" } });
    expect(body.photos).to.deep.equal(photos);
    const avatar = async () =>
      (
        await w()
          .as(w().owner)
          .graphql(`{ user(user: "${path.slice(7)}") { avatarUrl } }`)
      ).user.avatarUrl;
    expect(await avatar()).to.equal("");
    await scim.change(path, { op: "replace", path: "photos", value: [{ value: "https://x.example/a.png" }] });
    expect(await avatar()).to.equal("https://x.example/a.png");
  });

  it("are limited per address where authentication fails, but valid keys are not affected", async () => {
    const wrong = new ScimClient(w().nobody, "stwi_wrong");
    const statuses = await Promise.all(Array.from({ length: 70 }, async () => (await wrong.get("/Users")).status));
    expect(statuses.filter((status) => status === 429)).to.have.length(10);
    expect((await wrong.get("/Users")).headers.get("retry-after")).to.match(/^\d+$/);
    expect(await scim.get(path)).to.include({ status: 200 });
  });
});

describe("keys of identity providers", () => {
  const w = world({ STEWARD_SCIM_RATE_LIMIT: "20" });
  const owner = () => w().as(w().owner);

  it("are shown once, listed without their secret, renamed, and revoked immediately", async () => {
    const { id, secret } = await makeScimKey(w(), { name: "Okta", source: "okta" });
    expect(secret)
      .to.match(/^stwi_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}$/)
      .and.include(id);
    const scim = new ScimClient(w().nobody, secret);
    expect(await scim.get("/Users?count=1")).to.include({ status: 200 });
    await owner().graphql(`mutation { updateScimKey(input: { id: "${id}", name: "Okta 2" }) { scimKey { id } } }`);
    const { scimKeys } = await owner().graphql(
      "{ scimKeys { nodes { id name source lastUsedIp createdBy { username } organizations { id } expiresAt } } }",
    );
    expect(scimKeys.nodes[0]).to.deep.include({ id, name: "Okta 2", source: "okta", expiresAt: null });
    expect(scimKeys.nodes[0]!.organizations).to.deep.equal([{ id: w().defaultOrganization }]);
    expect(await storedText(w(), "scim_keys")).to.not.include(secret.slice(-43));
    await owner().graphql(`mutation { revokeScimKey(input: { id: "${id}" }) { scimKey { name } } }`);
    expect(await scim.get("/Users?count=1")).to.include({ status: 401 });
    const events = await audited(w(), { resourceType: "scim_key" });
    expect(events.map(({ action }) => action)).to.deep.equal(["CREATE", "UPDATE", "REVOKE"]);
  });

  it("expire, and name existing organizations", async () => {
    const { id, secret } = await makeScimKey(w(), { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    await setTimes(w(), "scim_keys", { id }, { expires_at: "0 s" });
    expect(await new ScimClient(w().nobody, secret).get("/Users")).to.include({ status: 401 });
    const failure = await owner().failure(
      `mutation { createScimKey(input: { name: "", source: "a b", organizationIds: ["${w().owner.id}"], expiresAt: "2020-01-01T00:00:00Z" }) { secret } }`,
    );
    expect(failure.errors[0]!.extensions.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "input.name",
      "input.source",
      "input.expiresAt",
    ]);
    const unknown = await owner().failure(
      `mutation { createScimKey(input: { name: "x", organizationIds: ["${w().owner.id}"] }) { secret } }`,
    );
    expect(unknown.errors[0]!.extensions.validations[0]).to.include({ field: "input.organizationIds[0]" });
  });

  it("end neither in the past nor at present, and keep their end where a change is rejected", async () => {
    const at = (from: number) => new Date(Date.now() + from).toISOString();
    const create = (expiresAt: string) =>
      owner().failure(`mutation($at: DateTime) { createScimKey(input: { name: "late", expiresAt: $at }) { secret } }`, {
        at: expiresAt,
      });
    const end = at(3_600_000);
    const { id, secret } = await makeScimKey(w(), { expiresAt: end });
    const update = (expiresAt: string) =>
      owner().failure(
        `mutation($id: String!, $at: DateTime) { updateScimKey(input: { id: $id, expiresAt: $at }) { scimKey { id } } }`,
        { id, at: expiresAt },
      );
    for (const past of ["1970-01-01T00:00:00Z", at(-3_600_000), at(-1_000)])
      for (const { errors } of [await create(past), await update(past)])
        expect(errors[0]!.extensions.validations, past).to.deep.equal([
          { field: "input.expiresAt", detail: "Must be in the future." },
        ]);
    const { scimKeys } = await owner().graphql("{ scimKeys { nodes { id name expiresAt } } }");
    expect(scimKeys.nodes.filter(({ name }: { name: string }) => name === "late")).to.deep.equal([]);
    expect(scimKeys.nodes.find((key: { id: string }) => key.id === id)!.expiresAt).to.equal(end);
    const scim = new ScimClient(w().nobody, secret);
    await setTimes(w(), "scim_keys", { id }, { expires_at: "-1 s" });
    expect(await scim.get("/Users?count=0"), "ended before it was used").to.include({ status: 401 });
  });

  it("work in GraphQL for SCIM, and for nothing else", async () => {
    const { secret } = await makeScimKey(w());
    const send = (query: string) => w().nobody.post("/graphql", { query }, { Authorization: `Bearer ${secret}` });
    const { body } = await send(
      `mutation { createScimUser(input: { document: { userName: "gql@x.example" } }) { resource { version document user { email } } } }`,
    );
    expect(body.data.createScimUser.resource.document).to.include({ userName: "gql@x.example" });
    expect(
      (await send('{ scimUsers(filter: "userName sw \\"gql\\"") { totalResults resources { id } } }')).body.data
        .scimUsers.totalResults,
    ).to.equal(1);
    for (const query of ["{ me { id } }", "{ users { nodes { id } } }", "{ scimKeys { nodes { id } } }"])
      expect((await send(query)).body.errors[0].extensions.code, query).to.equal("UNAUTHENTICATED");
  });

  it("have a rate limit of their own", async () => {
    const { secret } = await makeScimKey(w());
    const scim = new ScimClient(w().nobody, secret);
    const statuses = await Promise.all(
      Array.from({ length: 25 }, async () => (await scim.get("/Users?count=0")).status),
    );
    expect(statuses.filter((status) => status === 429)).to.have.length(5);
  });
});
