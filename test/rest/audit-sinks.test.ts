// Reaches for tables: positions that a server could not store before it ended.
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rename, rm, stat } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { readAllNumbered } from "../support/audit-stream.js";
import { countRows, setColumns, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type World, world } from "../support/world.js";

interface Sink {
  name: string;
  position: number;
  behind: number;
  deliveredAt: string | null;
  failingSince: string | null;
  lastFailure: string;
}

const sinksOf = async (w: World) =>
  (await w.as(w.owner).graphql("{ auditSinks { name position behind deliveredAt failingSince lastFailure } }"))
    .auditSinks as Sink[];

/** Milliseconds for what a sink does: after each failure, it waits for twice as long. */
const timeout = 60_000;

/** A collector that keeps what it accepts. */
class Collector {
  readonly requests: Array<{ headers: IncomingHttpHeaders; records: LogRecord[]; status: number }> = [];
  status = 200;
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { resourceLogs } = JSON.parse(Buffer.concat(chunks).toString()) as { resourceLogs: ResourceLogs[] };
        const records = resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
        this.requests.push({ headers: request.headers, records, status: this.status });
        response.writeHead(this.status, { location: `${this.url}/elsewhere` }).end("{}");
      });
    });
  }

  async open(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/logs`;
  }

  get accepted(): LogRecord[] {
    return this.requests.filter(({ status }) => status === 200).flatMap(({ records }) => records);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

interface LogRecord {
  timeUnixNano: string;
  severityText: string;
  eventName: string;
  body: { stringValue: string };
  attributes: Array<{ key: string; value: { stringValue?: string; intValue?: string } }>;
}
interface ResourceLogs {
  scopeLogs: Array<{ logRecords: LogRecord[] }>;
}

describe("the sinks of the audit log", () => {
  const the = world();
  let folder: string;
  let servers: App[] = [];
  let collector: Collector;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "audit-"));
    collector = new Collector();
    await collector.open();
  });
  afterEach(async () => {
    for (const server of servers) await server.close();
    servers = [];
    collector.close();
    await rm(folder, { recursive: true });
  });

  const start = async (settings: NodeJS.ProcessEnv) => {
    const server = await startServer(the().database.url, settings);
    servers.push(server);
    return server;
  };
  const stop = async () => {
    for (const server of servers.splice(0)) await server.close();
  };
  const linesOf = async (path: string) => (await readFile(path, "utf8").catch(() => "")).split("\n").slice(0, -1);
  const streamed = () => readAllNumbered(the().url, the().owner.token);
  /** Waits until a sink has all events, and returns these. */
  const delivered = async (name: string) => {
    await eventually(async () => (await countRows(the(), "audit_number_queue")) === 0, "all are numbered");
    await eventually(
      async () => {
        const found = (await sinksOf(the())).find((sink) => sink.name.includes(name));
        const last = (await streamed()).at(-1)!.number;
        return found?.behind === 0 && found.position >= last;
      },
      `${name} has all`,
      timeout,
    );
    return streamed();
  };

  it("have a file with the lines of the stream, which may be renamed, and of which a cut line is written again", async () => {
    const w = the();
    const path = join(folder, "audit.jsonl");
    await w.user("first");
    await start({ STEWARD_AUDIT_FILE: path });
    const all = await delivered(path);
    expect((await linesOf(path)).map((line) => JSON.parse(line) as unknown)).to.deep.equal(all);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);

    await rename(path, `${path}.1`);
    await w.user("second");
    const more = await delivered(path);
    expect((await linesOf(path)).map((line) => JSON.parse(line) as unknown)).to.deep.equal(more.slice(all.length));

    // A server that ended while it wrote, before it stored its position.
    await stop();
    const { number } = more.at(-1)!;
    await setColumns(w, "audit_sinks", {}, { position: number - 2 });
    await appendFile(path, '{"number":7,"event":{"id":"cut');
    await w.user("third");
    await start({ STEWARD_AUDIT_FILE: path });
    const last = await delivered(path);
    expect((await linesOf(path)).map((line) => JSON.parse(line) as unknown)).to.deep.equal(last.slice(all.length));
  });

  it("have each event once in a file that two servers of a machine share", async () => {
    const w = the();
    const path = join(folder, "shared.jsonl");
    await Promise.all([start({ STEWARD_AUDIT_FILE: path }), start({ STEWARD_AUDIT_FILE: path })]);
    await Promise.all(Array.from({ length: 8 }, (_, nr) => w.user(`shared-${nr}`)));
    const all = await delivered(path);
    expect((await linesOf(path)).map((line) => JSON.parse(line) as unknown)).to.deep.equal(all);
  });

  it("have a collector that takes OTLP, which receives all, also after failures, and its credentials", async () => {
    const w = the();
    collector.status = 503;
    await w.user("otlp");
    const headers = "Authorization=Bearer of the collector, X-Scope=audit";
    await start({ STEWARD_AUDIT_OTLP_URL: collector.url, STEWARD_AUDIT_OTLP_HEADERS: headers });
    const sink = async () => (await sinksOf(w)).find(({ name }) => name === `otlp ${collector.url}`);
    await eventually(async () => (await sink())?.failingSince != null, "the failure is noted");
    expect(await sink()).to.deep.include({ position: 0, deliveredAt: null });
    expect((await sink())!.lastFailure).to.equal("The collector responded with status 503 and a redirect.");
    // A redirect is followed by none.
    collector.status = 307;
    await eventually(
      () => collector.requests.some(({ status }) => status === 307),
      "the redirect is received",
      timeout,
    );
    collector.status = 200;
    const all = await delivered(collector.url);
    expect(collector.accepted.map(({ body }) => JSON.parse(body.stringValue) as unknown)).to.deep.equal(all);
    expect(await sink()).to.deep.include({ failingSince: null, lastFailure: "" });
    for (const { headers: given } of collector.requests)
      expect(given).to.include({ authorization: "Bearer of the collector", "x-scope": "audit" });
    const [record] = collector.accepted;
    const attributes = Object.fromEntries(record!.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
    expect(attributes).to.include({
      "steward.audit.number": "1",
      "steward.resource.type": all[0]!.event.resource_type,
    });
    expect(record!.eventName).to.equal(`steward.${all[0]!.event.resource_type}.${all[0]!.event.action}`);
  });

  it("are taken over from a server that has ended without a word", async () => {
    const w = the();
    await start({ STEWARD_AUDIT_OTLP_URL: collector.url });
    await delivered(collector.url);
    await stop();
    await setColumns(w, "audit_sinks", {}, { lease_token: w.owner.id });
    await setTimes(w, "audit_sinks", {}, { leased_until: "0 s" });
    await w.user("taken-over");
    await start({ STEWARD_AUDIT_OTLP_URL: collector.url });
    const all = await delivered(collector.url);
    expect(collector.accepted).to.have.length(all.length);
  });

  it("are shown to auditors of the deployment, and to no others", async () => {
    const w = the();
    const organization = await w.organization();
    const admin = await w.user("oadmin", [organization.id]);
    const failure = async () => (await w.as(admin).failure("{ auditSinks { name } }")).code;
    expect(await failure()).to.equal("FORBIDDEN");
    await w.grant(admin, "auditor");
    expect((await w.as(admin).graphql("{ auditSinks { name } }")).auditSinks).to.be.an("array");
  });
});
