// The socket of provisioner daemons: who may connect, what it carries, and how it ends.
// Reaches for tables: jobs of one test are not for the daemons of the next.
import { expect } from "chai";
import { carryOut, newKey, queueImport, type Refused, resources, serve, type Serving } from "./support/provisioners.js";
import { deleteRows } from "./support/tables.js";
import { world } from "./support/world.js";

const failure = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail("It succeeded."),
    (error: Error) => error as Refused & { status?: number },
  );

describe("the socket of provisioner daemons", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "false" });
  let key: string;
  before(async () => {
    key = await newKey(w());
  });

  const status = async (options: Serving) => (await failure(serve(w().app, options))).status;

  it("delivers a queued import to a plain client, whose reports make the version usable", async () => {
    const daemon = (await serve(w().app, { key })).work();
    const id = await queueImport(w());
    const job = await daemon.job();
    expect(job).to.include({ jobId: id, type: "TEMPLATE_VERSION_IMPORT" });
    expect(job.tags).to.deep.equal({ scope: "organization", owner: "" });
    expect(job.assignment).to.deep.include({ transition: "START", buildNumber: null, claim: false, workspace: null });
    expect(job.assignment.document).to.deep.include({ provisioner: "echo", resources });

    const { expiresAt } = await daemon.call("acceptProvisionerJob", job);
    expect(await daemon.call("reportProvisionerResources", job, { resources })).to.deep.equal({
      dailyCost: 3,
      agents: [],
    });
    expect(Date.parse(expiresAt)).to.be.above(Date.parse(job.expiresAt));
    expect(await daemon.call("completeProvisionerJob", job)).to.deep.equal({ status: "SUCCEEDED" });
    const { provisionerJob } = await w()
      .as(w().owner)
      .graphql(
        `query($id: UUID!) { provisionerJob(id: $id) { status workerName startedAt completedAt error queuePosition metadata { templateVersionName } } }`,
        { id },
      );
    expect(provisionerJob).to.deep.include({ status: "SUCCEEDED", error: null, queuePosition: 0 });
    expect(provisionerJob.workerName).to.match(/^daemon-[0-9a-f]{8}$/);
    daemon.close();
  });

  it("rejects daemons before the upgrade, with the status of their fault", async () => {
    const { id: foreign } = await w().organization();
    const member = await w().user("mel");
    const outsider = await w().user("olga", [foreign]);
    expect(await status({})).to.equal(401);
    expect(await status({ key: `stwk_${"x".repeat(43)}` })).to.equal(401);
    expect(await status({ key: "stwk_short" })).to.equal(401);
    expect(await status({ key, token: w().owner.token })).to.equal(400);
    expect(await status({ key, headers: { Authorization: `Bearer ${key}` } })).to.equal(400);
    expect(await status({ key, query: "" })).to.equal(400);
    expect(await status({ key, query: "provisioner=Echo" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&version=2.0" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&version=1.1" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&tag=a%3D1" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&name=-" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&name=Built-In" })).to.equal(400);
    expect(await status({ key, query: "provisioner=echo&name=a&name=b" })).to.equal(400);
    expect(await status({ key, protocol: "graphql-ws" })).to.equal(400);
    expect(await status({ key, protocol: null })).to.equal(400);
    expect(await status({ key, organization: foreign })).to.equal(404);
    expect(await status({ token: outsider.token })).to.equal(404);
    expect(await status({ token: member.token })).to.equal(403);
    expect(await status({ token: w().owner.token, query: "provisioner=echo&tag=a" })).to.equal(400);
    expect(await status({ token: w().owner.token, query: "provisioner=echo&tag=a%3D%00" })).to.equal(400);
    expect(await status({ token: w().owner.token, query: "provisioner=echo&tag=owner%3Dx" })).to.equal(400);

    const headers = { "Service-Provisioner-Key": key };
    const path = "/api/v2/organizations/default/provisionerdaemons/serve";
    expect((await w().nobody.get(`${path}?provisioner=echo`, headers)).status).to.equal(426);
    const { body } = await w().nobody.get(path);
    expect(body.message).to.match(/signed out/);
  });

  it("takes the key as a bearer token", async () => {
    const daemon = await serve(w().app, { headers: { Authorization: `Bearer ${key}` } });
    expect(daemon.closed).to.equal(undefined);
    daemon.close();
  });

  it("takes the session of a member, for the member's own jobs only, and closes when the session ends", async () => {
    const mia = await w().user("mia");
    const theirs = await serve(w().app, { token: mia.token, query: "provisioner=echo&name=mine&tag=scope%3Duser" });
    theirs.work(2);
    await queueImport(w());
    const other = await queueImport(w(), { tags: { scope: "user" } });
    const own = await queueImport(w(), { tags: { scope: "user" }, initiatorId: mia.id });
    const job = await theirs.job();
    expect(job).to.deep.include({ jobId: own, tags: { scope: "user", owner: mia.id } });
    await carryOut(theirs, job);
    expect(theirs.assigned).to.have.length(1);
    await w().as(mia).graphql("mutation { logout { __typename } }");
    expect((await theirs.closing()).code).to.equal(4403);
    await deleteRows(w(), "provisioner_jobs", { status: "pending" });
    expect(other).to.be.a("string");
  });

  it("runs the documented operations only", async () => {
    const daemon = await serve(w().app, { key });
    for (const query of [
      "{ me { id } }",
      "{ __schema { types { name } } }",
      "{ serverInfo { version } }",
      'mutation { requestOneTimePasscode(input: { email: "a@b.c" }) { __typename } }',
    ])
      expect(((await failure(daemon.run(query))) as Refused).errors[0]!.message, query).to.match(
        /daemons cannot select/,
      );
    daemon.work();
    const again = await failure(daemon.run("subscription { provisionerWorkReceived(slots: 1) { __typename } }"));
    expect(again.code, again.message).to.equal("CONFLICT");
    const rejected = await failure(daemon.run(`subscription { provisionerWorkReceived(slots: 65) { __typename } }`));
    expect(rejected.code, rejected.message).to.equal("BAD_USER_INPUT");
    daemon.close();
  });

  it("closes the older of two connections of a daemon, and keeps its id", async () => {
    const query = "provisioner=echo&name=twice";
    const first = await serve(w().app, { key, query });
    const ids = async () => {
      const read = `{ provisionerDaemons(organization: "default") { id name } }`;
      const daemons = (await w().as(w().owner).graphql(read)).provisionerDaemons as Array<{ id: string; name: string }>;
      return daemons.filter(({ name }) => name === "twice").map(({ id }) => id);
    };
    const before = await ids();
    const second = await serve(w().app, { key, query });
    expect((await first.closing()).code).to.equal(4410);
    expect(await ids()).to.deep.equal(before);
    expect(second.closed).to.equal(undefined);
    const other = await newKey(w());
    expect(await status({ key: other, query })).to.equal(409);
    second.close();
  });

  it("closes sockets when the key is deleted, and fails the jobs of its daemons", async () => {
    const { body } = await w().as(w().owner).post("/api/v2/organizations/default/provisionerkeys", { name: "Doomed" });
    const daemon = (await serve(w().app, { key: body.key })).work();
    const id = await queueImport(w());
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    const deleted = await w().as(w().owner).delete("/api/v2/organizations/default/provisionerkeys/doomed");
    expect(deleted.status).to.equal(204);
    expect((await daemon.closing()).code).to.equal(4403);
    const { provisionerJob } = await w()
      .as(w().owner)
      .graphql(`query($id: UUID!) { provisionerJob(id: $id) { status error workerId workerName } }`, { id });
    expect(provisionerJob).to.deep.include({
      status: "FAILED",
      error: "The key of the provisioner daemon was deleted.",
      workerId: null,
    });
    expect(await status({ key: body.key })).to.equal(401);
  });

  it("asks daemons to connect again before the server stops", async () => {
    const { startServer } = await import("./support/app.js");
    const app = await startServer(w().database.url, { STEWARD_BUILTIN_DAEMON: "false" });
    const daemon = (await serve(app, { key })).work();
    const idle = await serve(app, { key });
    const id = await queueImport(w());
    await daemon.job();
    await app.close();
    expect((await daemon.closing()).code).to.equal(1012);
    expect((await idle.closing()).code).to.equal(1012);
    expect(daemon.events.at(-1)).to.have.property("__typename", "ProvisionerDrainRequested");
    await deleteRows(w(), "provisioner_jobs", { id });
  });

  it("closes sockets with messages of more than 4 MiB", async () => {
    const daemon = await serve(w().app, { key });
    daemon.socket.send("x".repeat(4 * 1024 ** 2 + 1));
    expect((await daemon.closing()).code).to.equal(1009);
  });

  it("carries out jobs one after the other in one slot", async () => {
    const daemon = (await serve(w().app, { key, query: "provisioner=echo&name=one" })).work(1);
    const ids = [await queueImport(w()), await queueImport(w()), await queueImport(w())];
    for (const [number, id] of ids.entries()) {
      const job = await daemon.job(number);
      expect(job.jobId).to.equal(id);
      expect(daemon.assigned).to.have.length(number + 1);
      await carryOut(daemon, job);
    }
    daemon.close();
  });
});
