// The assistant of the demonstration: a program for tasks without a model and without packages. It speaks the Agent Client
// Protocol, version 1, over standard input and output, as real assistants do: it answers in parts, asks for a permission
// before it changes something, and fails if it is told to.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const home = process.env.HOME ?? ".";
/** Milliseconds between two parts of a text, and for which a tool works. */
const pause = 60;
const work = 700;

const replies = [
  "I looked at the code that this touches and at its tests. The change is small: two files and a test that fails without it. Shall I push it?",
  "Two callers rely on the old order, so I kept the public interface as it is and wrote down why. Ask me to push it when you agree.",
  "The tests pass. One decision is yours: the old format is still read by the boot loader of 2019. Shall I delete it?",
];
const hint =
  "I am a small program without a model. Tell me to push, deploy, install, or delete something, and I ask for your permission first; tell me to fail or to crash, and I do.";

/** Words of an input after which a permission is asked for, with what is done. */
const changes = {
  push: "Push a branch",
  deploy: "Deploy",
  install: "Install packages",
  delete: "Delete",
  remove: "Delete",
};

/** Requests of this program that wait for a response, by their ID. */
const waiting = new Map();
let nextId = 1;
/** Called when the turn in progress is interrupted. */
let interrupt;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function request(method, params) {
  const id = nextId++;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const fileOf = (sessionId) => join(home, `${sessionId}.session.json`);

/** The number of turns of a session; undefined if it is unknown. */
function turnsOf(sessionId) {
  const isName = /^session-[0-9a-z-]+$/.test(sessionId);
  return isName && existsSync(fileOf(sessionId))
    ? JSON.parse(readFileSync(fileOf(sessionId), "utf8")).turns
    : undefined;
}

const delay = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** A turn: what the program does about one input. */
class Turn {
  isCanceled = false;

  constructor(sessionId) {
    this.sessionId = sessionId;
    this.canceled = new Promise((resolve) => {
      interrupt = () => {
        this.isCanceled = true;
        resolve();
      };
    });
  }

  update = (update) => send({ method: "session/update", params: { sessionId: this.sessionId, update } });
  wait = (milliseconds) => Promise.race([delay(milliseconds), this.canceled]);

  /** Says a text, a few words at a time, as models do. */
  async say(text) {
    for (const part of text.match(/\S+\s*\S*\s*\S*\s*/g)) {
      if (this.isCanceled) return;
      this.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part } });
      await this.wait(pause);
    }
  }

  /** Uses a tool. Returns the ID of the call, which `end` completes. */
  async use(title, kind, rawInput) {
    const toolCallId = `call-${nextId++}`;
    this.update({ sessionUpdate: "tool_call", toolCallId, title, kind, status: "in_progress", rawInput });
    await this.wait(work);
    return toolCallId;
  }

  end(toolCallId, status, text) {
    const content = [{ type: "content", content: { type: "text", text } }];
    this.update({ sessionUpdate: "tool_call_update", toolCallId, status, content });
  }

  /** Asks for a permission. Returns whether it was given. */
  async isAllowed(toolCallId, title) {
    const asked = request("session/request_permission", {
      sessionId: this.sessionId,
      toolCall: { toolCallId, title },
      options: [
        { optionId: "allow", name: "Allow", kind: "allow_once" },
        { optionId: "reject", name: "Reject", kind: "reject_once" },
      ],
    });
    const { outcome } = (await Promise.race([asked, this.canceled])) ?? {};
    return outcome?.outcome === "selected" && outcome.optionId === "allow";
  }

  async run(input, turns) {
    if (/\bcrash\b/i.test(input)) {
      await this.say("I end now, as you wish.");
      process.stderr.write("The assistant was told to crash.\n");
      process.exit(3);
    }
    if (/\bfail\b/i.test(input)) {
      await this.say("I try it. ");
      throw new Error("I was told to fail.");
    }
    const word = Object.keys(changes).find((each) => new RegExp(`\\b${each}\\b`, "i").test(input));
    if (word) return this.change(`${changes[word]}: ${input.split("\n")[0].slice(0, 120)}`, input);
    const read = await this.use("Read the code", "read", { path: "src" });
    this.end(read, this.isCanceled ? "failed" : "completed", "4 files, 31 places");
    await this.say(turns === 0 ? `${replies[0]}\n\n${hint}` : replies[turns % replies.length]);
  }

  /** Changes something, once a permission was given: a line in the file changes.md of its home. */
  async change(title, input) {
    await this.say("That changes something, so I ask first. ");
    const toolCallId = `call-${nextId++}`;
    this.update({
      sessionUpdate: "tool_call",
      toolCallId,
      title,
      kind: "execute",
      status: "pending",
      rawInput: { input },
    });
    if (await this.isAllowed(toolCallId, title)) {
      await this.wait(work);
      appendFileSync(join(home, "changes.md"), `* ${new Date().toISOString()} ${title}\n`);
      this.end(toolCallId, "completed", "A line was added to changes.md in the home of this workspace.");
      await this.say("Done. You find it in changes.md.");
    } else {
      this.end(toolCallId, "failed", "It was not allowed.");
      await this.say("Then I leave it as it is.");
    }
  }
}

async function prompt({ sessionId, prompt: blocks }) {
  const turns = turnsOf(sessionId) ?? 0;
  const turn = new Turn(sessionId);
  await turn.run(String(blocks.at(-1)?.text ?? ""), turns);
  writeFileSync(fileOf(sessionId), JSON.stringify({ turns: turns + 1 }));
  return { stopReason: turn.isCanceled ? "cancelled" : "end_turn" };
}

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { loadSession: true } }),
  "session/new": () => {
    const sessionId = `session-${Date.now().toString(36)}-${process.pid}`;
    writeFileSync(fileOf(sessionId), JSON.stringify({ turns: 0 }));
    return { sessionId };
  },
  "session/load": ({ sessionId }) => {
    if (turnsOf(sessionId) === undefined) throw new Error("The session is not known.");
    return {};
  },
  "session/prompt": prompt,
};

async function take({ id, method, params, result }) {
  if (method === undefined) {
    waiting.get(id)?.(result);
    waiting.delete(id);
  } else if (method === "session/cancel") interrupt?.();
  else if (id !== undefined)
    try {
      if (methods[method]) send({ id, result: await methods[method](params) });
      else send({ id, error: { code: -32_601, message: "Unknown method" } });
    } catch (error) {
      send({ id, error: { code: -32_000, message: error.message } });
    }
}

process.stderr.write("The assistant is ready.\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  try {
    void take(JSON.parse(line));
  } catch {
    process.stderr.write("A line is not JSON.\n");
  }
});
