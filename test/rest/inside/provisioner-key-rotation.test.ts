// New secrets of provisioner keys, beside which the former ones are valid for a time.
// Looks inside: secrets end, and were used, at times of the tests.
import { expect } from "chai";
import { startServer, type App } from "../../support/app.js";
import { audited } from "../../support/audit.js";
import { type Daemon, newKey, queueImport, resources, serve } from "../../support/provisioners.js";
import { eventually } from "../../support/watchers.js";
import { world } from "../../support/world.js";

const rotate = `mutation($input: RotateProvisionerKeyInput!) { rotateProvisionerKey(input: $input) {
  key provisionerKey { name rotatedAt lastUsedAt formerSecret { endsAt lastUsedAt } } } }`;
const end = `mutation($input: EndProvisionerKeyFormerSecretInput!) { endProvisionerKeyFormerSecret(input: $input) {
  provisionerKey { formerSecret { endsAt } } } }`;

describe("rotation of provisioner keys", () => {
  const w = world();
  const owner = () => w().as(w().owner);
  const query = (text: string, ...values: unknown[]) => w().app.services.database.pool.query(text, values);
  const open: Daemon[] = [];
  let other: App;

  before(async () => {
    other = await startServer(w().database.url);
  });
  after(async () => {
    for (const daemon of open) daemon.close();
    await other.close();
  });

  /** The newest key. */
  const newest = async (): Promise<{ id: string; name: string }> =>
    (await query("select id, name from provisioner_keys order by created_at desc, id desc limit 1")).rows[0];
  const keyNamed = async (name: string) =>
    (
      await owner().graphql(
        `{ provisionerKeys(organization: "default") { name lastUsedAt formerSecret { endsAt lastUsedAt } } }`,
      )
    ).provisionerKeys.find((key) => key.name === name)!;
  const connect = async (key: string, name: string, app: Pick<App, "url"> = w().app): Promise<Daemon> => {
    const daemon = await serve(app, { key, query: `provisioner=echo&name=${name}` });
    open.push(daemon);
    return daemon;
  };
  const statusOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => "connected",
      ({ status }: { status: number }) => status,
    );
  const rotated = async (name: string, more: object = {}) =>
    (await owner().graphql(rotate, { input: { organization: "default", name, ...more } })).rotateProvisionerKey;

  it("keeps the former secret valid for a day, shows the use of both, and is audited without secrets", async () => {
    const former = await newKey(w());
    const { id, name } = await newest();
    await connect(former, "one");
    const before = (await keyNamed(name)).lastUsedAt;
    expect(before).to.be.a("string");
    const began = Date.now();
    const { key, provisionerKey } = await rotated(name.toUpperCase());
    const ended = Date.now();
    expect(key)
      .to.match(/^stwk_[0-9A-Za-z]{43}$/)
      .and.not.equal(former);
    const { endsAt, lastUsedAt } = provisionerKey.formerSecret;
    expect(Date.parse(endsAt) - 86_400_000).to.be.within(began, ended + 1);
    expect(Date.parse(lastUsedAt)).to.equal(Date.parse(before));
    expect(provisionerKey).to.deep.include({ name, lastUsedAt: null });
    expect(provisionerKey.rotatedAt).to.be.a("string");

    await query("update provisioner_keys set former_secret_used_at = null where id = $1", id);
    await connect(former, "two");
    expect((await keyNamed(name)).formerSecret.lastUsedAt).to.be.a("string");
    expect((await keyNamed(name)).lastUsedAt).to.equal(null);
    await connect(key, "three");
    expect((await keyNamed(name)).lastUsedAt).to.be.a("string");
    const events = await audited(w(), { resourceId: id, action: "UPDATE" });
    expect(events.map(({ diff }) => diff)).to.deep.equal([
      { key: { old: "***", new: "***" }, formerSecretEndsAt: { new: endsAt } },
    ]);
    expect(JSON.stringify(events)).to.not.include("stwk_");
  });

  it("lets a daemon change its secret in the midst of a job", async () => {
    const former = await newKey(w(), { swap: "1" });
    const { name } = await newest();
    const daemon = (await connect(former, "swap")).work();
    await queueImport(w(), { tags: { swap: "1" } });
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    const { key } = await rotated(name);
    const again = await connect(key, "swap", other);
    expect((await daemon.closing()).code).to.equal(4410);
    await again.call("reportProvisionerResources", job, { resources });
    expect(await again.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
  });

  it("closes the daemons with the former secret when it ends by itself, on every replica, and no others", async () => {
    const former = await newKey(w());
    const { id, name } = await newest();
    const { key } = await rotated(name, { overlapSeconds: 3600 });
    const daemons = [await connect(former, "old-1"), await connect(former, "old-2", other)];
    const fresh = await connect(key, "new");
    await query("update provisioner_keys set former_secret_ends_at = now() - interval '1 s' where id = $1", id);
    for (const daemon of daemons) expect((await daemon.closing()).code).to.equal(4403);
    expect(await statusOf(connect(former, "old-1"))).to.equal(401);
    expect(fresh.closed).to.equal(undefined);
    expect((await keyNamed(name)).formerSecret).to.equal(null);
    // The key can be rotated again.
    expect((await rotated(name)).key).to.not.equal(key);
    expect(await statusOf(connect(key, "new"))).to.equal("connected");
  });

  it("ends the former secret early, once, or immediately without an overlap", async () => {
    const first = await newKey(w());
    const { id, name } = await newest();
    const { key: second } = await rotated(name);
    const daemon = await connect(first, "early", other);
    const input = { organization: "default", name };
    for (let time = 0; time < 2; time++) {
      const { endProvisionerKeyFormerSecret } = await owner().graphql(end, { input });
      expect(endProvisionerKeyFormerSecret.provisionerKey.formerSecret).to.equal(null);
    }
    expect((await daemon.closing()).code).to.equal(4403);
    expect(await audited(w(), { resourceId: id, action: "UPDATE" })).to.have.length(2);
    const later = await connect(second, "early");
    const { key: third, provisionerKey } = await rotated(name, { overlapSeconds: 0 });
    expect(provisionerKey.formerSecret).to.equal(null);
    expect((await later.closing()).code).to.equal(4403);
    await eventually(async () => (await statusOf(connect(third, "early"))) === "connected", "the new secret is valid");
  });

  it("happens once at a time: of two rotations, one is rejected while a former secret is valid", async () => {
    await newKey(w());
    const { name } = await newest();
    const input = { organization: "default", name };
    const answers = await Promise.all(
      [1, 2, 3].map(() => owner().post("/graphql", { query: rotate, variables: { input } })),
    );
    const failures = answers.flatMap(({ body }) => body.errors ?? []);
    expect(failures.map((each) => each.extensions.code)).to.deep.equal(["CONFLICT", "CONFLICT"]);
    expect(failures[0].message).to.match(/^The secret before the present one is valid until 20/);
  });

  it("is for administrators, and rejects reserved keys and long overlaps together", async () => {
    await newKey(w());
    const { name } = await newest();
    const member = w().as(await w().user("mel"));
    for (const mutation of [rotate, end]) {
      expect((await member.failure(mutation, { input: { organization: "default", name } })).code).to.equal("FORBIDDEN");
      const unknown = { organization: "default", name: "unknown" };
      expect((await owner().failure(mutation, { input: unknown })).code).to.equal("NOT_FOUND");
      const reserved = { organization: "default", name: "built-in" };
      expect((await owner().failure(mutation, { input: reserved })).code).to.equal("BAD_USER_INPUT");
    }
    const faulty = { organization: "default", name: "user-auth", overlapSeconds: 30 * 86_400 + 1 };
    const { errors } = await owner().failure(rotate, { input: faulty });
    expect(errors[0]!.extensions.validations.map(({ field }) => field)).to.deep.equal([
      "input.name",
      "input.overlapSeconds",
    ]);
  });
});
