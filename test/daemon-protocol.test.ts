// docs/daemon-protocol.md, followed to the letter: a daemon that sends nothing but the operations of the page.
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { buildSchema, GraphQLInputObjectType, parse, validate } from "graphql";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { boxOf } from "./support/builds.js";
import { newKey } from "./support/provisioners.js";
import { eventually } from "./support/watchers.js";
import { type Anything, world } from "./support/world.js";

const page = readFileSync("docs/daemon-protocol.md", "utf8");
const schema = buildSchema(readFileSync("schema.graphql", "utf8"));
const operations = new Map(
  [...page.matchAll(/```graphql\n([^]*?)```/g)]
    .flatMap(([, block]) => block!.split(/\n(?=mutation )/))
    .map((text) => [/^\s*(?:mutation|subscription) (\w+)/.exec(text)![1]!, text]),
);

describe("the daemon protocol", () => {
  const the = world();
  let daemon: PageDaemon;

  before(async () => {
    daemon = await PageDaemon.connect(the().url, await newKey(the()));
  });
  after(() => daemon.close());

  const owner = () => the().as(the().owner);
  const jobOf = async (id: string) =>
    (
      await owner().graphql(
        `{ provisionerJob(id: "${id}") { status error logs { nodes { sequence level stage output } } } }`,
      )
    ).provisionerJob;

  let made = 0;

  /** Creates a template whose import the daemon completes. Returns its id. */
  async function template(): Promise<string> {
    const document = boxOf(0, { provisioner: "page", variables: [{ name: "image", default: "debian" }] });
    const [resource] = document.resources;
    const agents = resource!.agents.map((agent) => ({ ...agent, directory: "/${workspace.name}/${var.image}" }));
    const input = {
      organization: "default",
      name: `page-${++made}`,
      document: { ...document, resources: [{ ...resource, agents }] },
    };
    const { createTemplate } = await owner().graphql(
      "mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } } }",
      { input },
    );
    const job = await daemon.next();
    expect(job).to.include({ type: "TEMPLATE_VERSION_IMPORT" });
    expect(job.assignment).to.deep.include({ transition: "START", buildNumber: null, workspace: null, task: null });
    await daemon.run("Accept", job);
    await daemon.run("Report", job, { resources: rendered(job) });
    expect(await daemon.run("Complete", job)).to.deep.equal({ status: "SUCCEEDED" });
    return createTemplate.template.id;
  }

  /** The resources of a job as the page says: those of the transition, with their references replaced. */
  const rendered = ({ assignment: { document, transition, variables, workspace } }: Anything): object[] => {
    const values: Record<string, string> = {
      "workspace.name": workspace?.name ?? "workspace",
      ...Object.fromEntries(variables.map(({ name, value }: Anything) => [`var.${name}`, value])),
    };
    const found = document.resources.filter((each: Anything) => each.transitions.includes(transition.toLowerCase()));
    const text = JSON.stringify(found).replaceAll(/\$\{([^}]*)\}/g, (_, reference: string) => values[reference]!);
    return JSON.parse(text);
  };

  const build = async (mutation: string, input: object): Promise<Anything> => {
    const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`;
    const built = await owner().graphql(
      `mutation($input: ${type}!) { ${mutation}(input: $input) { workspace { id } workspaceBuild { id } } }`,
      { input },
    );
    return built[mutation].workspace.id;
  };

  it("has valid operations, and names every input of them", () => {
    expect([...operations.keys()]).to.deep.equal(["Work", "Accept", "Report", "Log", "Complete", "Fail"]);
    for (const [name, text] of operations) expect(validate(schema, parse(text)), name).to.deep.equal([]);
    const inputs = Object.values(schema.getTypeMap()).filter(
      (type) => type instanceof GraphQLInputObjectType && page.includes(`: ${type.name}!`),
    ) as GraphQLInputObjectType[];
    expect(inputs).to.have.length(5);
    for (const field of inputs.flatMap((type) => Object.keys(type.getFields())))
      expect(page, field).to.match(new RegExp(`\`${field}\``));
    const line = schema.getType("LogEntryInput") as GraphQLInputObjectType;
    for (const field of Object.keys(line.getFields())) expect(page).to.match(new RegExp(`[{ ]${field}[,}]`));
  });

  it("imports a template, starts a workspace, hands its state on, and deletes it", async () => {
    const id = await template();
    const workspace = await build("createWorkspace", { templateId: id, name: "first" });
    const start = await daemon.next();
    expect(start).to.include({ type: "WORKSPACE_BUILD" });
    expect(start.assignment).to.deep.include({ transition: "START", buildNumber: 1, claim: false, state: null });
    expect(start.assignment.workspace).to.deep.include({ id: workspace, name: "first" });
    expect((await daemon.run("Accept", start)).expiresAt).to.be.a("string");
    expect(await daemon.run("Accept", start), "again").to.have.property("expiresAt");
    const { agents, dailyCost } = await daemon.run("Report", start, { resources: rendered(start) });
    expect(dailyCost).to.equal(0);
    expect(agents).to.have.length(1);
    expect(agents[0].token).to.match(/^stwa_/);
    const line = { createdAt: new Date().toISOString(), level: "INFO", source: "PROVISIONER", stage: "Plan" };
    const logs = [1, 2].map((sequence) => ({ ...line, sequence, output: `Line ${sequence}` }));
    for (let repeated = 0; repeated < 2; repeated++)
      expect(await daemon.run("Log", start, { logs })).to.include({ cancelRequested: false, logsOverflowed: false });
    expect(await daemon.run("Complete", start, { state: { machine: 7 }, pin: true })).to.deep.equal({
      status: "SUCCEEDED",
    });
    expect((await jobOf(start.jobId)).logs.nodes.map(({ output }) => output)).to.deep.equal(["Line 1", "Line 2"]);

    await build("deleteWorkspace", { workspace });
    const removal = await daemon.next();
    expect(removal.assignment).to.deep.include({ transition: "DELETE", buildNumber: 2, state: { machine: 7 } });
    await daemon.run("Accept", removal);
    expect(await daemon.run("Complete", removal)).to.deep.equal({ status: "SUCCEEDED" });
  });

  it("says why a build failed, and that a lease was lost", async () => {
    const id = await template();
    await build("createWorkspace", { templateId: id, name: "second" });
    const job = await daemon.next();
    await daemon.run("Accept", job);
    const early = await daemon.failure("Complete", job);
    expect(early).to.deep.include({ code: "CONFLICT" }).and.not.have.property("reason");
    const faulty = await daemon.failure("Report", job, { resources: [{ name: "other" }] });
    expect(faulty.code).to.equal("BAD_USER_INPUT");
    expect(faulty.validations[0].field).to.match(/^input\.resources/);
    for (let repeated = 0; repeated < 2; repeated++)
      expect(await daemon.run("Fail", job, { error: "No machine is free." })).to.deep.equal({ status: "FAILED" });
    expect(await jobOf(job.jobId)).to.deep.include({ status: "FAILED", error: "No machine is free." });
    expect(await daemon.failure("Log", job, { logs: [] })).to.deep.include({ code: "CONFLICT", reason: "LEASE_LOST" });
  });

  it("cancels a job when it is told to", async () => {
    const id = await template();
    await build("createWorkspace", { templateId: id, name: "third" });
    const job = await daemon.next();
    await daemon.run("Accept", job);
    await owner().graphql(`mutation { cancelProvisionerJob(input: { job: "${job.jobId}" }) { __typename } }`);
    await eventually(() => daemon.canceled.includes(job.jobId), "the request arrives");
    expect(await daemon.run("Log", job, { logs: [] })).to.include({ cancelRequested: true });
    expect(await daemon.run("Fail", job, { error: "Stopped.", canceled: true })).to.deep.equal({ status: "CANCELED" });
  });
});

/** A daemon of the provisioner `page`. */
class PageDaemon {
  readonly canceled: string[] = [];
  readonly #jobs: Anything[] = [];
  #taken = 0;

  private constructor(private readonly client: ReturnType<typeof createClient>) {
    void this.#receive().catch(() => {});
  }

  static async connect(url: string, key: string): Promise<PageDaemon> {
    const path = "/api/v2/organizations/default/provisionerdaemons/serve?provisioner=page&name=page&version=1.0";
    const { promise, resolve } = Promise.withResolvers<void>();
    const client = createClient({
      url: `${url.replace("http", "ws")}${path}`,
      webSocketImpl: class extends WebSocket {
        constructor(address: string, protocols: string[]) {
          super(address, protocols, { headers: { "Service-Provisioner-Key": key } });
        }
      },
      retryAttempts: 0,
      on: { connected: () => resolve() },
    });
    const daemon = new PageDaemon(client);
    await promise;
    return daemon;
  }

  async #receive(): Promise<void> {
    const events = this.client.iterate<Anything>({ query: operations.get("Work")!, variables: { slots: 4 } });
    for await (const { data } of events) {
      const { provisionerWorkReceived: event } = data;
      if (event.__typename === "ProvisionerJobAssigned") this.#jobs.push(event);
      if (event.__typename === "ProvisionerJobCancelRequested") this.canceled.push(event.jobId);
    }
  }

  async next(): Promise<Anything> {
    await eventually(() => this.#jobs.length > this.#taken, "a job arrives");
    return this.#jobs[this.#taken++];
  }

  async #call(operation: string, { jobId, lease }: Anything, input: object): Promise<Anything> {
    const variables = { input: { jobId, lease, ...input } };
    for await (const result of this.client.iterate<Anything>({ query: operations.get(operation)!, variables }))
      return result;
    throw new Error("There was no response.");
  }

  /** Runs a mutation of the page on a job. Returns its payload. */
  async run(operation: string, job: Anything, input: object = {}): Promise<Anything> {
    const { data, errors } = await this.#call(operation, job, input);
    if (errors) throw new Error(JSON.stringify(errors));
    return Object.values(data)[0];
  }

  /** Runs a mutation of the page that fails. Returns the extensions of its error. */
  async failure(operation: string, job: Anything, input: object = {}): Promise<Anything> {
    const { errors } = await this.#call(operation, job, input);
    return errors[0].extensions;
  }

  async close(): Promise<void> {
    await this.client.dispose();
  }
}
