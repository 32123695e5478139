// Reaches for tables: whether all events have a number.
// The audit log at a receiver of OpenTelemetry: decoded by the Protocol Buffers of the project itself, by names of JSON, and as bytes.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { readAllNumbered } from "../support/audit-stream.js";
import { countRows } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Anything, world } from "../support/world.js";

/** A message type as protobufjs generates it. */
interface MessageType {
  /** Why an object is none; null if it is. */
  verify(object: object): string | null;
  fromObject(object: object): object;
  toObject(message: object, options: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
}

const { opentelemetry } = createRequire(import.meta.url)("@opentelemetry/otlp-transformer/build/src/generated/root.js");
const request = opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest as MessageType;

/** Decodes a request, by its names and as bytes. Throws if the types do not have all of it. */
function decode(text: string): Anything {
  const given = JSON.parse(text) as object;
  const message = request.fromObject(given);
  expect(request.verify(message)).to.equal(null);
  const received = request.toObject(request.decode(request.encode(message).finish()), { longs: String });
  expect(received).to.deep.equal(given);
  return received;
}

describe("a receiver of OpenTelemetry", () => {
  const the = world();
  let receiver: Server;
  let server: App | undefined;
  const records: Anything[] = [];
  const resources: Anything[] = [];

  before(async () => {
    receiver = createServer((asked, response) => {
      const chunks: Buffer[] = [];
      asked.on("data", (chunk: Buffer) => chunks.push(chunk));
      asked.on("end", () => {
        try {
          const { resourceLogs } = decode(Buffer.concat(chunks).toString());
          for (const { resource, scopeLogs } of resourceLogs) {
            resources.push(resource);
            for (const { logRecords } of scopeLogs) records.push(...logRecords);
          }
          response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
        } catch (error) {
          response.writeHead(400).end(String(error));
        }
      });
    });
    await once(receiver.listen(0, "127.0.0.1"), "listening");
  });
  after(async () => {
    await server?.close();
    receiver.close();
    receiver.closeAllConnections();
  });

  it("decodes all that the server sends, with the values of the log", async () => {
    const w = the();
    await w.group("decoded");
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/v1/logs`;
    server = await startServer(w.database.url, { STEWARD_AUDIT_OTLP_URL: url });
    await eventually(async () => (await countRows(w, "audit_number_queue")) === 0, "all are numbered");
    const all = await readAllNumbered(w.url, w.owner.token);
    await eventually(() => records.length >= all.length, "all are received", 30_000);
    expect(records.map(({ body }) => JSON.parse(body.stringValue) as unknown)).to.deep.equal(all);
    const created = records.find(({ eventName }) => eventName === "steward.group.create")!;
    const event = all.find((each) => each.event.resource_label === "decoded")!;
    expect(created).to.include({ severityText: "INFO", severityNumber: 9 });
    expect(BigInt(created.timeUnixNano) / 1_000_000n).to.equal(BigInt(Date.parse(event.event.time)));
    const attributes = Object.fromEntries(created.attributes.map(({ key, value }: Anything) => [key, value]));
    expect(attributes["steward.audit.number"]).to.deep.equal({ intValue: String(event.number) });
    expect(attributes["enduser.id"]).to.deep.equal({ stringValue: w.owner.id });
    const [resource] = resources;
    expect(resource.attributes).to.deep.include({ key: "service.name", value: { stringValue: "steward" } });
  });
});
