// Provisioner keys, daemons, and jobs, as administrators and owners of jobs see them.
// Reaches for tables: jobs of one test are not for the daemons of the next.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { audited } from "./support/audit.js";
import { newId } from "./support/ids.js";
import { newKey, queueImport, queueImports, serve } from "./support/provisioners.js";
import { deleteRows, setColumns } from "./support/tables.js";
import { world } from "./support/world.js";

const path = "/api/v2/organizations/default/provisionerkeys";

/** A line of a log. */
const line = (sequence: number) => ({
  sequence,
  createdAt: "2026-11-01T10:00:00Z",
  level: "INFO",
  source: "PROVISIONER",
  stage: "",
  output: `line ${sequence}`,
});

describe("provisioner keys", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "false" });
  const owner = () => w().as(w().owner);

  it("get a name if none is given, and are listed by creation without their secret", async () => {
    const { status, body } = await owner().post(path);
    expect(status).to.equal(201);
    expect(Object.keys(body)).to.deep.equal(["key"]);
    await owner().post(path, { name: "Second.key", tags: { a: "1" } });
    const keys = (await owner().get(path)).body;
    expect(keys[0].name).to.match(/^key-[0-9a-f]{8}$/);
    expect(keys[1]).to.deep.include({ name: "second.key", tags: { a: "1" }, organization: w().defaultOrganization });
    expect(JSON.stringify(keys)).to.not.include("stwk_");
    const events = await audited(w(), { resourceType: "provisioner_key" });
    expect(events.find(({ resourceLabel }) => resourceLabel === "second.key")!.diff).to.deep.equal({
      name: { new: "second.key" },
      tags: { new: { a: "1" } },
      key: { new: "***" },
    });
  });

  it("have names that are free, in any letter case, and not reserved, and report all faults together", async () => {
    await owner().post(path, { name: "taken" });
    const taken = await owner().post(path, { name: "TAKEN" });
    expect(taken.status).to.equal(409);
    expect(taken.body.validations[0].field).to.equal("name");
    for (const name of ["built-in", "Built-In", "user-auth"])
      expect((await owner().post(path, { name })).status, name).to.equal(400);
    for (const name of ["-a", "a-", "a b", "ä", "x".repeat(65)])
      expect((await owner().post(path, { name })).status, name).to.equal(400);
    const faulty = await owner().post(path, {
      name: "-",
      tags: { scope: "user", owner: "x", n: 5, ["k".repeat(65)]: "" },
    });
    expect(faulty.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal([
      "name",
      "tags.scope",
      "tags.owner",
      "tags.n",
      `tags.${"k".repeat(65)}`,
    ]);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, ""]));
    expect((await owner().post(path, { tags: many })).body.validations[0].field).to.equal("tags");
  });

  it("of the server and of users are reserved: listed with their daemons, and never deleted", async () => {
    const keys = (await owner().get(`${path}/daemons`)).body.map(({ key }: { key: { name: string } }) => key.name);
    expect(keys.slice(-2)).to.deep.equal(["built-in", "user-auth"]);
    expect((await owner().delete(`${path}/built-in`)).status).to.equal(400);
    expect((await owner().delete(`${path}/unknown`)).status).to.equal(404);
  });

  it("are for administrators: members are rejected, and strangers see no organization", async () => {
    const { id } = await w().organization();
    const member = await w().user("mel");
    const stranger = await w().user("sam", [id]);
    for (const each of [path, `${path}/daemons`]) {
      expect((await w().as(member).get(each)).status).to.equal(403);
      expect((await w().as(stranger).get(each)).status).to.equal(404);
    }
    expect((await w().as(member).post(path)).status).to.equal(403);
    expect((await w().as(member).delete(`${path}/taken`)).status).to.equal(403);
  });

  it("are listed with their daemons", async () => {
    const key = await newKey(w());
    const user = await serve(w().app, { token: w().owner.token, query: "provisioner=echo&name=mine" });
    const daemons = await Promise.all(
      ["a", "b"].map((name) => serve(w().app, { key, query: `provisioner=echo&name=${name}` })),
    );
    const listed = (await owner().get(`${path}/daemons`)).body as Array<{
      key: { name: string };
      daemons: Array<{ name: string }>;
    }>;
    const names = Object.fromEntries(
      listed.map(({ key: { name }, daemons: of }) => [name, of.map((each) => each.name)]),
    );
    expect(names["user-auth"]).to.deep.equal(["mine"]);
    expect(Object.values(names)).to.deep.include(["a", "b"]);
    for (const each of [...daemons, user]) each.close();
  });

  it("are removed with their daemons, one of which alone can be removed as well", async () => {
    const key = await newKey(w());
    const daemon = await serve(w().app, { key, query: "provisioner=echo&name=solo" });
    const { provisionerDaemons } = await owner().graphql(
      `{ provisionerDaemons(organization: "default") { id name status keyName } }`,
    );
    const { id } = provisionerDaemons.find(({ name }) => name === "solo")!;
    const mutation = `mutation($id: UUID!) { deleteProvisionerDaemon(input: { id: $id }) { provisionerDaemon { name } } }`;
    const member = await w().user("mo");
    expect((await w().as(member).failure(mutation, { id })).code).to.equal("FORBIDDEN");
    await owner().graphql(mutation, { id });
    expect((await daemon.closing()).code).to.equal(4403);
    expect((await owner().failure(mutation, { id })).code).to.equal("NOT_FOUND");
  });
});

describe("provisioner jobs", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "false" });
  const owner = () => w().as(w().owner);
  const list = `query($filter: ProvisionerJobFilter, $first: Int, $after: String) {
    provisionerJobs(organization: "default", filter: $filter, first: $first, after: $after) {
      totalCount pageInfo { endCursor hasNextPage } nodes { id status } } }`;
  const idsOf = async (client: ReturnType<typeof owner>, filter: object = {}) =>
    (await client.graphql(list, { filter })).provisionerJobs.nodes.map(({ id }: { id: string }) => id);

  beforeEach(() => deleteRows(w(), "provisioner_jobs", {}));

  it("are listed newest first, by page and by filter", async () => {
    const ids = [
      await queueImport(w()),
      await queueImport(w(), { tags: { a: "1" } }),
      await queueImport(w()),
    ].toReversed();
    expect(await idsOf(owner())).to.deep.equal(ids);
    expect(await idsOf(owner(), { tags: { a: "1" } })).to.deep.equal([ids[1]]);
    expect(await idsOf(owner(), { ids: [ids[0], newId()] })).to.deep.equal([ids[0]]);
    expect(await idsOf(owner(), { status: ["RUNNING"] })).to.deep.equal([]);
    expect(await idsOf(owner(), { type: "TEMPLATE_VERSION_IMPORT", initiator: "me" })).to.deep.equal(ids);
    const { provisionerJobs: first } = await owner().graphql(list, { first: 2 });
    expect(first).to.deep.include({ totalCount: 3 });
    const { provisionerJobs: rest } = await owner().graphql(list, { first: 2, after: first.pageInfo.endCursor });
    expect(rest.nodes.map(({ id }: { id: string }) => id)).to.deep.equal([ids[2]]);
  });

  it("are read and canceled by those who started them, if the template allows it, and by administrators", async () => {
    const [mia, eve] = await w().users("mia", "eve");
    const id = await queueImport(w(), { initiatorId: mia!.id });
    expect(await idsOf(w().as(mia!))).to.deep.equal([id]);
    expect(await idsOf(w().as(eve!))).to.deep.equal([]);
    const read = `query($id: UUID!) { provisionerJob(id: $id) { id } }`;
    expect((await w().as(eve!).failure(read, { id })).code).to.equal("NOT_FOUND");
    const cancel = `mutation($id: String!) { cancelProvisionerJob(input: { job: $id }) { provisionerJob { status } } }`;
    expect((await w().as(eve!).failure(cancel, { id })).code).to.equal("NOT_FOUND");
    await setColumns(w(), "templates", {}, { allow_user_cancel: false });
    expect((await w().as(mia!).failure(cancel, { id })).code).to.equal("FORBIDDEN");
    await setColumns(w(), "templates", {}, { allow_user_cancel: true });
    const { cancelProvisionerJob } = await w().as(mia!).graphql(cancel, { id });
    expect(cancelProvisionerJob.provisionerJob.status).to.equal("CANCELED");
  });

  it("have a place in the queue and matching daemons", async () => {
    const key = await newKey(w());
    const one = await serve(w().app, { key });
    const tagged = await serve(w().app, { key: await newKey(w(), { a: "1" }) });
    const ids = await queueImports(w(), 3);
    const special = await queueImport(w(), { tags: { a: "1" } });
    const unmatched = await queueImport(w(), { tags: { z: "1" } });
    const fields = "queuePosition queueSize availableWorkers matchedProvisioners { count available mostRecentlySeen }";
    const page = `{ provisionerJobs(organization: "default") { nodes { id status ${fields} } } }`;
    const { nodes } = (await owner().graphql(page)).provisionerJobs;
    const places = Object.fromEntries(
      nodes.map((job) => [job.id, [job.queuePosition, job.queueSize, job.matchedProvisioners.count]]),
    );
    expect(ids.map((id) => places[id])).to.deep.equal([
      [1, 3, 1],
      [2, 3, 1],
      [3, 3, 1],
    ]);
    expect(places[special]).to.deep.equal([1, 1, 1]);
    expect(places[unmatched]).to.deep.equal([0, 0, 0]);
    one.work();
    const job = await one.job();
    await one.call("acceptProvisionerJob", job);
    const { provisionerJob } = await owner().graphql(
      `query($id: UUID!) { provisionerJob(id: $id) { ${fields} workerName fileId input { templateVersionId } } }`,
      { id: job.jobId },
    );
    expect(provisionerJob).to.deep.include({ queuePosition: 0, queueSize: 0, availableWorkers: [] });
    expect(provisionerJob.matchedProvisioners).to.include({ count: 1, available: 1 });
    for (const each of [one, tagged]) each.close();
  });

  it("stream their log to watchers, from any line on, until they end", async () => {
    const daemon = (await serve(w().app, { key: await newKey(w()) })).work();
    const id = await queueImport(w());
    const job = await daemon.job();
    await daemon.call("acceptProvisionerJob", job);
    await daemon.call("updateProvisionerJob", job, { logs: [line(1), line(2)] });
    const { nodes } = (
      await owner().graphql(
        `query($id: UUID!) { provisionerJob(id: $id) { logs(first: 1) { nodes { id output } } } }`,
        {
          id,
        },
      )
    ).provisionerJob.logs;
    const later = await owner().graphql(
      `query($id: UUID!, $after: String) { provisionerJob(id: $id) { logs(after: $after) { nodes { output } } } }`,
      { id, after: nodes[0]!.id },
    );
    expect(later.provisionerJob.logs.nodes).to.deep.equal([{ output: "line 2" }]);
    const client = createClient({
      url: `${w().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: w().owner.token },
    });
    const lines = client.iterate<{ provisionerJobLogAppended: { sequence: number } }>({
      query: `subscription($id: UUID!, $after: UUID) { provisionerJobLogAppended(jobId: $id, after: $after) { sequence } }`,
      variables: { id, after: nodes[0]!.id },
    });
    const first = await lines.next();
    await daemon.call("updateProvisionerJob", job, { logs: [line(3)] });
    await daemon.call("failProvisionerJob", job, { error: "enough" });
    const received = [first.value!.data!.provisionerJobLogAppended.sequence];
    for await (const { data } of lines) received.push(data!.provisionerJobLogAppended.sequence);
    expect(received).to.deep.equal([2, 3]);
    await client.dispose();
    daemon.close();
  });
});
