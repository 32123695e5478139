// Workspace proxies: created by the owner of the world, and run as processes of their own.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { newId } from "./ids.js";
import type { World } from "./world.js";

export interface Key {
  kid: string;
  key: string;
  usableFrom: string;
  retiredAt: string | null;
}

/** A response to a proxy. Tests look into responses of every shape. */
export interface Reply {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  data?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  errors?: any[];
}

export const proxiesPath = "/api/v2/workspaceproxies";

/** A process that stands in for a proxy. */
export class StandIn {
  #last = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();

  private constructor(
    readonly process: ChildProcess,
    /** The URL where it serves. */
    readonly url: string,
    readonly replicaId: string,
  ) {
    process.on("message", ({ id, result, failure }: { id: number; result?: unknown; failure?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (failure === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(failure));
    });
  }

  static async start(steward: string, token: string, host = "127.0.0.1"): Promise<StandIn> {
    const replicaId = newId();
    const child = fork("test/support/stand-in-proxy.ts", {
      execArgv: ["--import", "./tools/ts-loader.mjs"],
      env: { PATH: process.env.PATH, STEWARD_URL: steward, PROXY_TOKEN: token, REPLICA_ID: replicaId, HOST: host },
    });
    const [{ result }] = (await once(child, "message")) as [{ result: string }];
    return new StandIn(child, result, replicaId);
  }

  tell<Result>(command: string, given: object = {}): Promise<Result> {
    const id = ++this.#last;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.process.send({ id, command, given });
    return waiting.promise as Promise<Result>;
  }

  register = (given: object = {}) => this.tell<Reply>("register", given);
  heartbeat = (given: object = {}) => this.tell<Reply>("heartbeat", given);
  deregister = () => this.tell<Reply>("deregister");
  behave = (as: string) => this.tell("behave", { as });
  /** Responds to the requests that it left without a response. */
  speak = () => this.tell("speak");
  /** Requests that it received since the last call. */
  asked = () => this.tell<string[]>("asked");

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await ended;
  }
}

/** Creates a proxy as the owner; returns it with its token. */
export async function makeProxy(w: World, name: string): Promise<{ id: string; name: string; token: string }> {
  const { status, body } = await w.as(w.owner).post(proxiesPath, { name });
  if (status !== 201) throw new Error(`Proxy ${name}: ${status} ${JSON.stringify(body)}`);
  return { id: body.id, name, token: body.proxy_token };
}

/** Returns a function that starts stand-ins; they are stopped after the tests of the file. */
export function standIns() {
  const started: StandIn[] = [];
  after(() => Promise.all(started.map((each) => each.stop())));
  return async (steward: string, token: string, host?: string): Promise<StandIn> => {
    const standIn = await StandIn.start(steward, token, host);
    started.push(standIn);
    return standIn;
  };
}
