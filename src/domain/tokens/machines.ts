import type { Logger } from "pino";
import type { Db } from "../../infrastructure/database/database.js";
import type { AgentActor } from "../kernel/actor.js";
import { anyOf } from "../kernel/queries.js";
import { unauthenticated } from "../kernel/errors.js";
import { Recent } from "./recent.js";
import { hashSecret } from "./token-text.js";
import { Watches } from "./watches.js";

/** The holder of a token: a machine, or what several machines share. */
interface Holder {
  readonly kind: string;
  readonly id: string;
  /** SHA-256 of the secret, base64. */
  readonly tokenHash: string;
}

/** The tokens of one kind of machine. */
export interface MachineTokens<Machine extends Holder> {
  readonly kind: Machine["kind"];
  /** Matches tokens. The last group is the secret, whose SHA-256 is stored. */
  readonly form: RegExp;
  /** The error message for other texts. */
  readonly malformed: string;
  /** Finds the machines with valid tokens whose secrets have these hashes. */
  readonly find: (
    db: Db,
    hashes: readonly Buffer[],
  ) => Promise<ReadonlyArray<Omit<Machine, "kind" | "tokenHash"> & { tokenHash: Buffer }>>;
}

/** Tokens of agents. They end when the workspace is started again, stopped, or deleted. */
export const agents: MachineTokens<AgentActor> = {
  kind: "agent",
  form: /^stwa_([0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  find: (db, hashes) =>
    db
      .selectFrom("workspaceAgents as a")
      .innerJoin("workspaces as w", "w.id", "a.workspaceId")
      .where("a.tokenHash", "=", anyOf(hashes, "bytea"))
      .where("a.tokenEndedAt", "is", null)
      .where("w.deletedAt", "is", null)
      // The agent is of the latest start of the workspace.
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom("workspaceBuilds as b")
              .innerJoin("workspaceBuilds as later", "later.workspaceId", "b.workspaceId")
              .whereRef("b.id", "=", "a.buildId")
              .whereRef("later.buildNumber", ">", "b.buildNumber")
              .where("later.transition", "=", "start")
              .select("later.id"),
          ),
        ),
      )
      .select(["a.id", "a.workspaceId", "a.tokenHash"])
      .execute(),
};

/** The hint that the token of a machine ended. */
export const machineHint = (id: string) => ({ topic: "auth", id: `m:${id}` }) as const;

/** Authenticates tokens of one kind of machine, with a cache and watches as for keys of users. */
export class Machines<Machine extends Holder> {
  readonly #recent: Recent<Machine>;
  readonly #watches: Watches;

  constructor(
    private readonly tokens: MachineTokens<Machine>,
    private readonly db: Db,
    log: Logger,
  ) {
    this.#watches = new Watches(async (hashes) => (await this.#find(hashes)).map(({ tokenHash }) => tokenHash), log);
    this.#recent = new Recent(
      async (hash) => (await this.#find([hash]))[0],
      ({ id }) => [id],
    );
  }

  async #find(hashes: readonly string[]): Promise<Machine[]> {
    const { kind, find } = this.tokens;
    const rows = await find(
      this.db,
      hashes.map((hash) => Buffer.from(hash, "base64")),
    );
    return rows.map((row) => ({ ...row, kind, tokenHash: row.tokenHash.toString("base64") }) as unknown as Machine);
  }

  /** Throws or rejects with UNAUTHENTICATED. */
  authenticate(text: string): Machine | Promise<Machine> {
    const secret = this.tokens.form.exec(text)?.at(-1);
    if (secret === undefined) throw unauthenticated(this.tokens.malformed);
    const key = hashSecret(secret).toString("base64");
    return this.#recent.at(key) ?? this.#recent.read(key).then(requireMachine);
  }

  /** Rejects with UNAUTHENTICATED once the token of a machine has ended. */
  async requireLiving(tokenHash: string): Promise<void> {
    requireMachine(this.#recent.at(tokenHash) ?? (await this.#recent.read(tokenHash)));
  }

  /** Calls `onEnd` once, at most 5 seconds after the token ended. Returns the function that stops watching. */
  watch = ({ id, tokenHash }: Omit<Holder, "kind">, onEnd: () => void): (() => void) =>
    this.#watches.add(tokenHash, [id], onEnd);

  /** Checks again whether the token of a machine is valid. */
  onChange(id: string): void {
    this.#recent.drop(id);
    this.#watches.check(id);
  }

  missedChanges(): void {
    this.#recent.clear();
    this.#watches.checkAll();
  }

  close(): void {
    this.#watches.close();
  }
}

function requireMachine<Machine>(machine: Machine | undefined): Machine {
  if (!machine) throw unauthenticated("The token is not valid.");
  return machine;
}
