// An agent that speaks ACP by the agent side of the SDK, as real ones do. Its prompts say what it does; `--no-load` makes it
// forget its sessions, which it otherwise keeps in its home.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

const canLoad = !process.argv.includes("--no-load");
const folder = join(process.env.HOME ?? "/tmp", ".acp-sessions");
const fileOf = (id) => join(folder, `${id}.json`);
const canceled = new Set();
const waiting = new Map();

if (process.argv.includes("--silent")) {
  process.stdin.resume();
  await new Promise(() => {});
}

const text = (content, kind = "agent_message_chunk") => ({
  sessionUpdate: kind,
  content: { type: "text", text: content },
});

const select = (id, category, currentValue, values) => ({
  type: "select",
  id,
  name: id,
  category,
  currentValue,
  options: values.map((value) => ({ value, name: value })),
});
/** As Claude's agent offers them, claude-agent-acp 0.2x: mode, model, and effort are configuration options. */
const options = [
  select("mode", "mode", "auto", ["auto", "default", "plan"]),
  select("model", "model", "default", ["default", "opus", "haiku"]),
  select("effort", "thought_level", "high", ["low", "medium", "high"]),
];

/** What each prompt does. */
const acts = {
  async ask({ update, client, sessionId }) {
    const toolCallId = "call-1";
    await update({
      sessionUpdate: "tool_call",
      toolCallId,
      title: "Delete everything",
      kind: "execute",
      status: "pending",
      rawInput: { path: "/" },
    });
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId, title: "Delete everything" },
      options: [
        { optionId: "yes", name: "Allow", kind: "allow_once" },
        { optionId: "no", name: "Reject", kind: "reject_once" },
      ],
    });
    const isAllowed = outcome.outcome === "selected" && outcome.optionId === "yes";
    const content = [{ type: "content", content: { type: "text", text: isAllowed ? "Deleted." : "Kept." } }];
    await update({
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: isAllowed ? "completed" : "failed",
      content,
    });
    await update(text(outcome.outcome === "selected" ? `You chose ${outcome.optionId}.` : "You did not choose."));
  },
  /** Works until it is interrupted. */
  wait: ({ sessionId }) => new Promise((resolve) => waiting.set(sessionId, resolve)),
  /** Ignores that it is interrupted. */
  stubborn: () => new Promise(() => {}),
  die: () => process.exit(3),
  complain: () => process.stderr.write("Out of tokens\n", () => process.exit(3)),
  options: ({ update }) => update(text(options.map(({ currentValue }) => currentValue).join(" "))),
  env: ({ update }) => update(text(JSON.stringify(process.env))),
  async secret({ update }) {
    // In pieces, as models write.
    for (const letter of `The key is ${process.env.API_KEY}.`) await update(text(letter));
  },
  async garbage({ update }) {
    for (let n = 0; n < 50; n++) process.stdout.write(`{"broken": ${n}\n[1]\nnull\n\n`);
    process.stdout.write(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":1}}\n`);
    await update(text("Still here."));
  },
  async flood({ update }) {
    for (let n = 0; n < 300; n++) await update(text(`${n} ${"x".repeat(20_000)}`));
    for (let n = 0; n < 30; n++)
      await update({
        sessionUpdate: "tool_call",
        toolCallId: `big-${n}`,
        title: "t".repeat(5000),
        rawOutput: "y".repeat(1_000_000),
        rawInput: { z: "z".repeat(100_000) },
      });
  },
  async endless({ update }) {
    for (;;) await update(text("x".repeat(1_000_000)));
  },
  line: () => new Promise(() => process.stdout.write("x".repeat(5 * 1024 ** 2))),
};

const app = agent({ name: "test" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: canLoad },
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = `session-${process.pid}-${Date.now()}`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(fileOf(sessionId), "[]");
    if (process.argv.includes("--no-id")) return {};
    return { sessionId, ...(process.argv.includes("--options") && { configOptions: options }) };
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    if (!existsSync(fileOf(sessionId))) throw new Error("The session is not known.");
    for (const said of JSON.parse(readFileSync(fileOf(sessionId), "utf8")))
      await client.notify(methods.client.session.update, { sessionId, update: text(said, "user_message_chunk") });
    return {};
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params: { configId, value } }) => {
    options.find(({ id }) => id === configId).currentValue = value;
    return { configOptions: options };
  })
  .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) => {
    canceled.add(sessionId);
    waiting.get(sessionId)?.();
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    canceled.delete(sessionId);
    const update = (each) => client.notify(methods.client.session.update, { sessionId, update: each });
    const said = prompt.map((block) => block.text);
    const kept = JSON.parse(readFileSync(fileOf(sessionId), "utf8"));
    writeFileSync(fileOf(sessionId), JSON.stringify([...kept, ...said]));
    const act = acts[said.at(-1)];
    if (act) await act({ update, client, sessionId });
    else
      for (const part of ["You said: ", said.at(-1), ` (${kept.length} before, ${said.length} now)`])
        await update(text(part));
    return { stopReason: canceled.has(sessionId) ? "cancelled" : "end_turn" };
  });

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
