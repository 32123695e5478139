import type { Logger } from "pino";
import type { Actor } from "../kernel/actor.js";
import { type Database, type Statement, statement } from "../kernel/database.js";
import { unauthenticated } from "../kernel/errors.js";
import { Recent } from "./recent.js";
import { hashSecret } from "./text.js";
import { Watches } from "./watches.js";

/** The machine behind a token. */
interface Holder {
  id: string;
  /** The workspace that an agent speaks for. */
  workspaceId?: string;
}

/** How one kind of machine signs in. */
export interface MachineKind {
  readonly kind: Actor["kind"];
  /** The form of its tokens; the last group is the secret, whose SHA-256 is stored. */
  readonly form: RegExp;
  /** What is said of a text of another form. */
  readonly malformed: string;
  /** The machine with the secret hashed `$1`, as long as its token counts. */
  readonly bySecret: Statement<Holder>;
  /** Which of the tokens in `$1` count, each by the SHA-256 of its secret as base64. */
  readonly living: Statement<{ id: string }>;
}

/** Agents of workspaces that were not deleted, until they are started anew, stopped or deleted. */
export const agents: MachineKind = {
  kind: "agent",
  form: /^stwa_([0-9A-Za-z]{43})$/,
  malformed: "The token is malformed.",
  bySecret: statement<Holder>(`
    select a.id, a.workspace_id as "workspaceId" from workspace_agents a join workspaces w on w.id = a.workspace_id
    where a.token_hash = $1 and a.token_ended_at is null and w.deleted_at is null`),
  living: statement<{ id: string }>(`
    select given.id from unnest($1::text[]) given (id)
      join workspace_agents a on a.token_hash = decode(given.id, 'base64') join workspaces w on w.id = a.workspace_id
    where a.token_ended_at is null and w.deleted_at is null`),
};

/** Names a machine in hints: its token ended. */
export const machineHint = (id: string) => ({ topic: "auth", id: `m:${id}` }) as const;

/** Who is behind the tokens of one kind of machine, remembered as keys of users are. */
export class Machines {
  readonly #recent: Recent<Actor>;
  readonly #watches: Watches;

  constructor(
    private readonly kind: MachineKind,
    database: Database,
    log: Logger,
  ) {
    this.#watches = new Watches(database, kind.living, log);
    this.#recent = new Recent(async (secretHash) => {
      const [holder] = await database.query(kind.bySecret, [Buffer.from(secretHash, "base64")]);
      return holder && this.#actor(holder, secretHash);
    });
  }

  /** Throws, or rejects, with UNAUTHENTICATED. */
  authenticate(text: string): Actor | Promise<Actor> {
    const secret = this.kind.form.exec(text)?.at(-1);
    if (secret === undefined) throw unauthenticated(this.kind.malformed);
    const key = hashSecret(secret).toString("base64");
    return this.#recent.at(key) ?? this.#recent.read(key).then(genuine);
  }

  /** Calls `onEnd` once, at most 5 seconds after the token ended. The result stops watching. */
  watch = ({ machineId, machineToken = "" }: Actor, onEnd: () => void): (() => void) =>
    this.#watches.add(machineToken, machineId, onEnd);

  /** The token of a machine may have ended. */
  changed(id: string): void {
    this.#recent.dropWhere(({ machineId }) => machineId === id);
    this.#watches.checkUser(id);
  }

  missedChanges(): void {
    this.#recent.clear();
    this.#watches.checkAll();
  }

  close(): void {
    this.#watches.close();
  }

  /** Machines hold no roles and no scopes: fields that take them say so. */
  #actor = ({ id, workspaceId }: Holder, machineToken: string): Actor => ({
    kind: this.kind.kind,
    machineId: id,
    machineToken,
    workspaceId,
    siteRoles: [],
    organizations: new Map(),
    scopes: [],
  });
}

function genuine(actor: Actor | undefined): Actor {
  if (!actor) throw unauthenticated("The token is not valid.");
  return actor;
}
