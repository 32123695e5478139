// docs/events.md: its commands and its program, run as they are printed, its schema, and its examples.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { signedBy, toThisMachine } from "../support/event-receiver.js";
import { freePort } from "../support/ports.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const run = promisify(execFile);

describe("docs/events.md", () => {
  const the = world(toThisMachine);
  let page: string;
  const blocks = (kind: string) =>
    [...page.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, block]) => block!);

  before(async () => {
    page = await readFile("docs/events.md", "utf8");
  });

  it("has a command that creates an endpoint, and a receiver that accepts only what it signed", async () => {
    const w = the();
    const directory = await mkdtemp(join(tmpdir(), "events-"));
    const port = await freePort("127.0.0.1");
    const url = `http://127.0.0.1:${port}/`;
    const [command, ...others] = blocks("sh");
    const [program, ...further] = blocks("js");
    expect([...others, ...further]).to.deep.equal([]);
    const { token } = await w.scoped(w.owner, "event_endpoint:create", "audit_log:read");
    const env = { PATH: process.env.PATH, STEWARD_URL: w.url, STEWARD_TOKEN: token, RECEIVER_URL: url };
    await run("bash", ["-euo", "pipefail", "-c", command!], { cwd: directory, env });
    const { data } = JSON.parse(await readFile(join(directory, "endpoint.json"), "utf8")) as {
      data: { createEventEndpoint: { secret: string } };
    };
    expect(data, await readFile(join(directory, "endpoint.json"), "utf8")).to.not.equal(null);
    const { secret } = data.createEventEndpoint;
    await writeFile(join(directory, "receiver.mjs"), program!);
    const receiver = spawn(process.execPath, [join(directory, "receiver.mjs")], {
      env: { SECRET: secret, PORT: String(port) },
    });
    let output = "";
    receiver.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    try {
      const send = (headers: Record<string, string> = {}) => fetch(url, { method: "POST", body: "{}", headers });
      await eventually(
        () =>
          send().then(
            ({ status }) => status === 401,
            () => false,
          ),
        "it rejects what is not signed",
      );
      const now = String(Math.floor(Date.now() / 1000));
      const forged = { "webhook-id": "x", "webhook-timestamp": now, "webhook-signature": "v1,AAAA v1," };
      expect((await send(forged)).status).to.equal(401);
      await w.group("documented");
      await eventually(() => output.includes("group.create\n"), "it receives the event", 15_000);
      // A message that is sent again, as the server does and as an eavesdropper may, has no effect; an old one is rejected.
      const replayed = (id: string, seconds: number) => {
        const headers = { "webhook-id": id, "webhook-timestamp": String(Number(now) + seconds) };
        const text = JSON.stringify({ type: `replayed.${id}` });
        const signature = signedBy(secret, { id, headers, text, body: undefined });
        return fetch(url, { method: "POST", body: text, headers: { ...headers, "webhook-signature": signature } });
      };
      for (const seconds of [0, 0, 1]) expect((await replayed("again", seconds)).status).to.equal(204);
      expect((await replayed("old", -600)).status).to.equal(401);
      await eventually(() => output.includes("replayed.again\n"), "it is printed");
      expect(output.match(/replayed/g)).to.have.lengthOf(1);
    } finally {
      receiver.kill();
      await rm(directory, { recursive: true });
    }
  });

  it("has the form and an example of events, and all types", async () => {
    const { eventTypes } = await the()
      .as(the().owner)
      .graphql("{ eventTypes { name version description schema example } }");
    const [example, schema] = blocks("json").map((block) => JSON.parse(block) as Record<string, unknown>);
    const known = eventTypes.find(({ name }: { name: string }) => name === example!.type);
    expect({ example, schema }).to.deep.equal({ example: known!.example, schema: known!.schema });
    const ajv = new Ajv2020({ formats: { "date-time": true, uuid: true } });
    const rows = [...page.matchAll(/^\| `(.*?)` +\| (\d+) +\| (.*?) +\|$/gm)].map(([, ...cells]) => cells);
    expect(rows).to.deep.equal(
      eventTypes.map(({ name, version, description }: Record<string, unknown>) => [name, String(version), description]),
    );
    for (const type of eventTypes) {
      const isValid = ajv.compile(type.schema);
      expect(isValid(type.example), JSON.stringify(isValid.errors)).to.equal(true);
      expect(isValid({ ...type.example, type: "other" })).to.equal(false);
    }
  });
});
