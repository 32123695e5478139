// A program that speaks the Agent Client Protocol: starts it, and leads its session turn by turn.
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Readable, Transform, Writable } from "node:stream";
import {
  client,
  type ClientConnection,
  type ContentBlock,
  methods,
  type NewSessionRequest,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { printOutput } from "../../../src/runtime/terminal.js";
import { delay } from "../../api/delay.js";
import { clipText, textOfLine, withLastLine } from "../text.js";
import { version } from "../../api/version.js";
import { Lines } from "../output.js";
import type { Transcript } from "../transcript.js";
import { asksNobody, modeOf, type SessionOptions, setOptions, type SessionState } from "./session-options.js";
import { Turns } from "./turns.js";

/** Bytes of a line that a program may write, of its output in a turn, and of the history that it is told. */
const most = { line: 4 * 1024 ** 2, turn: 64 * 1024 ** 2, history: 32 * 1024, requests: 20, options: 20 } as const;

/** A message of the conversation before the start. */
export interface EarlierMessage {
  role: string;
  content: string;
}

/** An input of a user; without an ID, the prompt. */
interface Input {
  text: string;
  id?: string;
  /** Called when the program has got it. */
  onTaken?: () => void;
}

export interface ProgramOptions {
  command: readonly string[];
  env: NodeJS.ProcessEnv;
  transcript: Transcript;
  /** The messages before the start, and the session in which they were written. */
  earlier: readonly EarlierMessage[];
  sessionId: string | null;
  /** Milliseconds for the program to begin a session, and to end a turn that was interrupted. */
  timeouts: { begin: number; interrupt: number };
  /** The options of the session. */
  session: SessionOptions;
}

/** The program does not speak ACP as it should, or has ended. */
export class ProgramFailure extends Error {}

export class AcpProgram {
  /** `starting` until the program takes input, and again when it has ended. */
  #status: "starting" | "running" | "stable" = "starting";
  readonly #turns: Turns;
  readonly #failure = Promise.withResolvers<ProgramFailure>();
  readonly #requests = new Map<string, (optionId: string | undefined) => void>();
  /** Inputs that wait for the end of a turn. */
  readonly #inputs: Input[] = [];
  readonly #taken = new Set<string>();
  #child?: ChildProcess;
  #connection?: ClientConnection;
  #sessionId = "";
  /** Whether updates belong to a turn, and are not the history that a loaded session repeats. */
  #isLive = false;
  #isInterrupted = false;
  #written = 0;
  /** The conversation that the program is told with the next input, because it could not load it. */
  #history = "";

  constructor(private readonly options: ProgramOptions) {
    this.#turns = new Turns(options.transcript);
  }

  /** Resolves when the program has failed, with the reason. */
  get failed(): Promise<ProgramFailure> {
    return this.#failure.promise;
  }

  /** Starts the program and begins or loads its session. Throws a `ProgramFailure`. */
  async start(): Promise<void> {
    const { timeouts, sessionId, transcript } = this.options;
    const begun = this.#begin(sessionId);
    const late = delay(timeouts.begin).then(() => new ProgramFailure("The program did not begin a session in time."));
    const outcome = await Promise.race([
      begun.then(
        () => undefined,
        (error: unknown) => (isReason(error) ? asFailure(error) : this.failed),
      ),
      late,
      this.failed,
    ]);
    if (outcome) throw outcome;
    transcript.session(this.#sessionId);
    this.#isLive = true;
    this.#status = "stable";
  }

  async #begin(sessionId: string | null): Promise<void> {
    const { agent } = this.#connect();
    const { agentCapabilities } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
      clientInfo: { name: "steward", version },
    });
    const session: NewSessionRequest = { cwd: process.cwd(), mcpServers: [] };
    if (sessionId !== null && agentCapabilities?.loadSession) {
      try {
        const loaded = await agent.request(methods.agent.session.load, { sessionId, ...session });
        this.#sessionId = sessionId;
        return await this.#choose(loaded ?? {});
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        // The program does not know the session any more.
      }
    }
    this.#history = historyOf(this.options.earlier);
    const made = await agent.request(methods.agent.session.new, session);
    const hasId = typeof made?.sessionId === "string" && made.sessionId !== "";
    if (!hasId) throw new ProgramFailure("The program began a session without an ID: session/new has no sessionId.");
    if (made.sessionId.length > 512) throw new ProgramFailure("The program gave its session an ID that is too long.");
    this.#sessionId = made.sessionId;
    await this.#choose(made);
  }

  /** Sets the options of the session, and reports its mode. */
  async #choose(state: SessionState): Promise<void> {
    const { session } = this.options;
    const chosen = await setOptions(this.#connection!.agent, this.#sessionId, state, session);
    if (typeof chosen === "string") throw new ProgramFailure(chosen);
    this.#reportMode(modeOf(chosen));
  }

  #reportMode(mode: string | undefined): void {
    if (mode !== undefined) this.options.transcript.mode(mode, asksNobody(mode));
  }

  #connect(): ClientConnection {
    const [file = "", ...args] = this.options.command;
    const child = spawn(file, args, { env: this.options.env, stdio: ["pipe", "pipe", "pipe"] });
    this.#child = child;
    // Standard error is part of the log of the agent.
    let lastLine = "";
    const lines = new Lines((line) => {
      printOutput(line);
      lastLine = textOfLine(line) || lastLine;
    });
    child.stderr.on("data", (chunk: Buffer) => lines.add(chunk));
    child.once("error", (error) => this.#fail(`The program could not be started: ${error.message}`));
    child.once("exit", (code, signal) => {
      const sentence = code === null ? `The program was ended by ${signal}.` : `The program ended with status ${code}.`;
      // Processes that it has left behind may hold its output open.
      void Promise.race([once(child.stderr, "close"), delay(500)]).then(() => {
        lines.end();
        this.#fail(withLastLine(sentence, clipText(lastLine, 300)));
      });
    });
    child.stdin.on("error", () => {});
    const metered = new Transform({
      transform: (chunk: Buffer, _, done) => {
        this.#written += chunk.length;
        if (this.#written > most.turn)
          this.#fail(`The program wrote more than ${most.turn / 1024 ** 2} MiB in a turn.`);
        done(null, chunk);
      },
    });
    const input = Readable.toWeb(child.stdout.pipe(metered)) as ReadableStream<Uint8Array>;
    const output = Writable.toWeb(child.stdin) as WritableStream<Uint8Array>;
    const connection = client({ name: "steward" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#ask(params))
      .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
        if (sessionId !== this.#sessionId) return;
        if (update.sessionUpdate === "current_mode_update") this.#reportMode(update.currentModeId);
        if (update.sessionUpdate === "config_option_update") this.#reportMode(modeOf(update));
        if (this.#isLive) this.#turns.update(update);
      })
      .connect(ndJsonStream(output, input, { maxMessageBytes: most.line }));
    this.#connection = connection;
    // The exit of the program, which follows soon, says more.
    void connection.closed.then(
      () => delay(1_000).then(() => this.#fail("The program closed its output, or wrote a line that is too long.")),
      () => delay(1_000).then(() => this.#fail("The program closed its output, or wrote a line that is too long.")),
    );
    return connection;
  }

  /** Gives the program an input, once it waits for one. An ID that it has got is not given again. */
  take(input: Input): void {
    if (input.id !== undefined) {
      if (this.#taken.has(input.id)) return;
      this.#taken.add(input.id);
    }
    this.#inputs.push(input);
    this.#next();
  }

  #next(): void {
    const input = this.#status === "stable" ? this.#inputs.shift() : undefined;
    if (!input) return;
    this.#status = "running";
    this.#turns.begin(input.text, input.id);
    this.options.transcript.state("WORKING");
    input.onTaken?.();
    void this.#turn(input.text);
  }

  async #turn(text: string): Promise<void> {
    this.#written = 0;
    this.#isInterrupted = false;
    const prompt: ContentBlock[] = [{ type: "text", text }];
    if (this.#history !== "") prompt.unshift({ type: "text", text: this.#history });
    this.#history = "";
    try {
      const { agent } = this.#connection!;
      const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId: this.#sessionId, prompt });
      this.#endTurn(reasons[stopReason]);
    } catch (error) {
      // Otherwise the connection was closed, and the program fails.
      if (error instanceof RequestError) this.#endTurn(`The program failed: ${clipText(error.message, 300)}`);
    }
  }

  #endTurn(reason?: string): void {
    this.#closeRequests();
    this.#turns.end(reason ?? (this.#isInterrupted ? reasons.cancelled : undefined));
    this.#isInterrupted = false;
    this.options.transcript.state("IDLE");
    this.#status = "stable";
    this.#next();
  }

  /** Interrupts the turn. A program that does not end it in time is ended. */
  interrupt(): void {
    if (this.#status !== "running" || this.#isInterrupted) return;
    this.#isInterrupted = true;
    this.#closeRequests();
    void this.#connection?.agent.notify(methods.agent.session.cancel, { sessionId: this.#sessionId }).catch(() => {});
    void delay(this.options.timeouts.interrupt).then(() => {
      if (this.#isInterrupted) this.#fail("The program did not end its turn after it was interrupted.");
    });
  }

  /** Decides a request for a permission. Without effect if it is not open. */
  decide(requestId: string, optionId: string): void {
    this.#requests.get(requestId)?.(optionId);
  }

  #ask({ toolCall, options, sessionId }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const isFit = options.length > 0 && options.length <= most.options && this.#requests.size < most.requests;
    const areFit = options.every(({ optionId }) => optionId !== "" && optionId.length <= 128);
    const isWanted = this.#status === "running" && !this.#isInterrupted && sessionId === this.#sessionId;
    if (!isFit || !areFit || !isWanted) return Promise.resolve({ outcome: { outcome: "cancelled" } });
    const requestId = randomUUID();
    const title = clipText(toolCall.title ?? "", 500);
    const shown = options.map(({ optionId: id, name, kind }) => ({
      id,
      name: clipText(name, 190).slice(0, 200),
      kind: kind.toUpperCase(),
    }));
    const close = this.#turns.ask(
      { requestId, toolCallId: toolCall.toolCallId.slice(0, 128), title, options: shown },
      toolCall,
    );
    this.options.transcript.state("REQUIRES_ACTION", title);
    return new Promise((resolve) => {
      this.#requests.set(requestId, (optionId) => {
        const isOption = options.some((each) => each.optionId === optionId);
        if (optionId !== undefined && !isOption) return;
        this.#requests.delete(requestId);
        close({ optionId });
        if (this.#requests.size === 0 && !this.#isInterrupted) this.options.transcript.state("WORKING");
        resolve({ outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } });
      });
    });
  }

  #closeRequests(): void {
    for (const close of this.#requests.values()) close(undefined);
  }

  #fail(message: string): void {
    this.#failure.resolve(new ProgramFailure(message));
  }

  /** Ends the program, and what it was asked and working on. */
  end(reason?: string): void {
    this.#isInterrupted = true;
    this.#closeRequests();
    if (this.#status === "running") this.#turns.end(reason);
    this.#status = "starting";
    this.#child?.kill("SIGKILL");
  }
}

const reasons: Record<string, string | undefined> = {
  cancelled: "The turn was interrupted.",
  max_tokens: "The program has reached its maximum number of tokens.",
  max_turn_requests: "The program has reached its maximum number of requests in a turn.",
  refusal: "The program refused to continue.",
};

/** Whether an error says why a session could not begin. Otherwise the connection was closed, and the program fails. */
const isReason = (error: unknown): boolean => error instanceof ProgramFailure || error instanceof RequestError;

const asFailure = (error: unknown): ProgramFailure =>
  error instanceof ProgramFailure
    ? error
    : new ProgramFailure(clipText(`The program failed: ${(error as Error).message}`, 300));

/** The newest messages, for a program that has lost them. */
function historyOf(earlier: readonly EarlierMessage[]): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const { role, content } of earlier.toReversed()) {
    const line = `${role === "user" ? "User" : "Agent"}: ${content}`;
    bytes += Buffer.byteLength(line);
    if (bytes > most.history) break;
    lines.unshift(line);
  }
  return lines.length === 0 ? "" : `This is the earlier conversation, which you have lost:\n\n${lines.join("\n\n")}`;
}
