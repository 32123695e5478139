import type { Logger } from "pino";
import type { AgentActor } from "../kernel/actor.js";
import { type Database, type Statement, statement } from "../kernel/database.js";
import { unauthenticated } from "../kernel/errors.js";
import { Recent } from "./recent.js";
import { hashSecret } from "./text.js";
import { Watches } from "./watches.js";

/** The holder of a token: a machine, or what several machines share. */
interface Holder {
  readonly kind: string;
  readonly id: string;
  readonly tokenHash: string;
}

/** The tokens of one kind of machine. */
export interface MachineTokens<Machine extends Holder> {
  readonly kind: Machine["kind"];
  /** Matches tokens. The last group is the secret, whose SHA-256 is stored. */
  readonly form: RegExp;
  /** The error message for other texts. */
  readonly malformed: string;
  /** Selects the machine with a valid token whose secret has the SHA-256 `$1`. */
  readonly bySecret: Statement<Omit<Machine, "kind" | "tokenHash">>;
  /** Selects the valid tokens among `$1`, each as the SHA-256 of its secret, base64. */
  readonly living: Statement<{ id: string }>;
}

/** The build of the agent `a` is the latest start of its workspace `w`, and no stop or deletion has ended since. */
const isLatestStart = `a.token_ended_at is null and w.deleted_at is null and not exists (
  select from workspace_builds b join workspace_builds later on later.workspace_id = b.workspace_id
  where b.id = a.build_id and later.build_number > b.build_number and later.transition = 'start')`;

/** Tokens of agents. They end when the workspace is started again, stopped, or deleted. */
export const agents: MachineTokens<AgentActor> = {
  kind: "agent",
  form: /^stwa_([0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  bySecret: statement(`
    select a.id, a.workspace_id as "workspaceId" from workspace_agents a join workspaces w on w.id = a.workspace_id
    where a.token_hash = $1 and ${isLatestStart}`),
  living: statement<{ id: string }>(`
    select given.id from unnest($1::text[]) given (id)
      join workspace_agents a on a.token_hash = decode(given.id, 'base64') join workspaces w on w.id = a.workspace_id
    where ${isLatestStart}`),
};

/** The hint that the token of a machine ended. */
export const machineHint = (id: string) => ({ topic: "auth", id: `m:${id}` }) as const;

/** Authenticates tokens of one kind of machine, with a cache and watches as for keys of users. */
export class Machines<Machine extends Holder> {
  readonly #recent: Recent<Machine>;
  readonly #watches: Watches;

  constructor(
    private readonly tokens: MachineTokens<Machine>,
    database: Database,
    log: Logger,
  ) {
    this.#watches = new Watches(database, tokens.living, log);
    this.#recent = new Recent(async (tokenHash) => {
      const [row] = await database.query(tokens.bySecret, [Buffer.from(tokenHash, "base64")]);
      return row && ({ ...row, kind: tokens.kind, tokenHash } as unknown as Machine);
    });
  }

  /** Throws or rejects with UNAUTHENTICATED. */
  authenticate(text: string): Machine | Promise<Machine> {
    const secret = this.tokens.form.exec(text)?.at(-1);
    if (secret === undefined) throw unauthenticated(this.tokens.malformed);
    const key = hashSecret(secret).toString("base64");
    return this.#recent.at(key) ?? this.#recent.read(key).then(required);
  }

  /** Rejects with UNAUTHENTICATED once the token of a machine has ended. */
  async requireLiving(tokenHash: string): Promise<void> {
    required(this.#recent.at(tokenHash) ?? (await this.#recent.read(tokenHash)));
  }

  /** Calls `onEnd` once, at most 5 seconds after the token ended. Returns the function that stops watching. */
  watch = ({ id, tokenHash }: Omit<Holder, "kind">, onEnd: () => void): (() => void) =>
    this.#watches.add(tokenHash, id, onEnd);

  /** Checks again whether the token of a machine is valid. */
  changed(id: string): void {
    this.#recent.dropWhere((machine) => machine.id === id);
    this.#watches.checkHolder(id);
  }

  missedChanges(): void {
    this.#recent.clear();
    this.#watches.checkAll();
  }

  close(): void {
    this.#watches.close();
  }
}

function required<Machine>(machine: Machine | undefined): Machine {
  if (!machine) throw unauthenticated("The token is not valid.");
  return machine;
}
