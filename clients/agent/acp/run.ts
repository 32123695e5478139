// The process between Steward and a program that speaks the Agent Client Protocol. It is the command of the agent: it
// starts the program, takes its inputs from the server over its own connection, and reports its conversation. It opens no
// port.
import { parseArgs } from "node:util";
import { createClient } from "graphql-ws";
import { printError } from "../../../src/runtime/terminal.js";
import { delay } from "../../api/delay.js";
import { pace } from "../pace.js";
import { AgentClient, OperationFailed } from "../client.js";
import { asMessages } from "../conversation.js";
import { Transcript } from "../transcript.js";
import { AcpProgram, ProgramFailure } from "./program.js";

/** Milliseconds for the last reports, and those for a program to begin a session and to end a turn. */
const farewell = 5_000;
const begin = 120_000;
const interrupt = 30_000;

interface Action {
  id: string;
  kind: "DECISION" | "INTERRUPT" | "INPUT";
  requestId: string;
  optionId: string;
  text: string;
}

/** Runs until the program ends. Returns the exit status. */
export async function runAcp(args: readonly string[]): Promise<number> {
  const { values, positionals: command } = parseArgs({
    args: [...args],
    options: {
      app: { type: "string", default: "" },
      mode: { type: "string" },
      model: { type: "string" },
      effort: { type: "string" },
      secrets: { type: "string", default: "" },
      begin: { type: "string", default: String(begin) },
      interrupt: { type: "string", default: String(interrupt) },
    },
    allowPositionals: true,
  });
  const { STEWARD_URL = "", STEWARD_AGENT_TOKEN: token = "", STEWARD_TASK_ID: taskId = "" } = process.env;
  const client = new AgentClient(STEWARD_URL, token, pace.request);
  const secrets = values.secrets.split(",").flatMap((name) => process.env[name] ?? []);
  const { sessionId, messages } = await client.beginConversation(taskId, "ACP");
  const transcript = new Transcript(
    (report) => client.reportConversation({ taskId, ...report }),
    [...secrets, token],
    printError,
  );
  // The program gets the environment of the agent, but not its token.
  const { STEWARD_AGENT_TOKEN: _, ...env } = process.env;
  const earlier = asMessages(messages);
  const timeouts = { begin: Number(values.begin), interrupt: Number(values.interrupt) };
  const { mode, model, effort } = values;
  const session = { mode, model, effort };
  const program = new AcpProgram({ command, env, transcript, earlier, sessionId, timeouts, session });
  const life = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => life.abort());
  const stopped = new Promise<undefined>((resolve) => life.signal.addEventListener("abort", () => resolve(undefined)));
  let failure: ProgramFailure | undefined;
  try {
    await Promise.race([program.start(), stopped]);
    const prompt = process.env.STEWARD_TASK_PROMPT ?? "";
    // After a pause, the prompt is a new one only if it was changed meanwhile.
    const isNew = !earlier.some(({ role, content }) => role === "user" && content === transcript.masked(prompt));
    if (life.signal.aborted) failure = undefined;
    else if (prompt !== "" && isNew) program.take({ text: prompt });
    else transcript.state("IDLE");
    void carryOut(STEWARD_URL, token, taskId, program, transcript, life.signal);
    void reportHealthy(client, values.app, life.signal);
    failure = await Promise.race([program.failed, stopped]);
  } catch (error) {
    failure = error instanceof ProgramFailure ? error : new ProgramFailure((error as Error).message);
  }
  if (life.signal.aborted) failure = undefined;
  program.end(failure?.message ?? "The workspace was stopped.");
  if (failure) {
    transcript.state("ERROR", failure.message);
    printError(failure.message);
  }
  await transcript.close(farewell);
  life.abort();
  return failure ? 1 : 0;
}

/** Reports that the program takes inputs, until the server has stored it. */
async function reportHealthy(client: AgentClient, slug: string, signal: AbortSignal): Promise<void> {
  if (slug === "") return;
  for (let wait = pace.reconnect; !signal.aborted; wait = Math.min(wait * 2, pace.reconnectMost)) {
    try {
      return await client.appHealth([{ slug, health: "HEALTHY" }]);
    } catch (error) {
      if (!(error instanceof OperationFailed) || !error.isTemporary) return;
    }
    await delay(wait, signal);
  }
}

/** Carries out what users want from the program, as the server sends it. */
async function carryOut(
  url: string,
  token: string,
  taskId: string,
  program: AcpProgram,
  transcript: Transcript,
  signal: AbortSignal,
): Promise<void> {
  const client = createClient({
    url: `${url.replace(/^http/, "ws")}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { sessionToken: token },
    retryAttempts: 0,
  });
  signal.addEventListener("abort", () => void client.dispose(), { once: true });
  const query = `subscription ($taskId: UUID!) { taskActionRequested(taskId: $taskId) { id kind requestId optionId text } }`;
  for (let wait = pace.reconnect; !signal.aborted; wait = Math.min(wait * 2, pace.reconnectMost)) {
    try {
      for await (const { data } of client.iterate<{ taskActionRequested: Action }>({ query, variables: { taskId } })) {
        wait = pace.reconnect;
        if (!data) continue;
        const { id, kind, requestId, optionId, text } = data.taskActionRequested;
        if (kind === "INPUT") {
          program.take({ text, id: requestId, onTaken: () => transcript.finish(id) });
          continue;
        }
        if (kind === "DECISION") program.decide(requestId, optionId);
        else program.interrupt();
        transcript.finish(id);
      }
    } catch {
      // The server cannot be reached, or is restarted: its actions wait.
    }
    await delay(wait, signal);
  }
}
