// A user with given roles in a small organization of their own, inserted directly into the tables: hundreds of them
// cost no password hashing, and stages do not affect each other.
import { hash } from "node:crypto";
import { tomorrow } from "./clock.js";
import { hashSecret, newToken } from "./token-rows.js";
import { newId, randomText } from "./ids.js";
import { insertAgent, insertWorkspace } from "./workspaces.js";
import type { Client, World } from "./world.js";

/** Ids of the objects on a stage. */
export interface Stage {
  actor: string;
  organization: string;
  /** A member without roles. */
  victim: string;
  /** Holds a site role. Like the newcomer, belongs to no organization. */
  holder: string;
  newcomer: string;
  /** A service account that is a user admin of the organization. */
  bot: string;
  /** The victim is in the group and the team, the actor in the team if they are a member. The team has a budget. */
  group: string;
  team: string;
  /** API tokens and unread notifications of the victim and of the actor. Each of the two has a secret called `kept`. */
  key: string;
  ownKey: string;
  note: string;
  ownNote: string;
  /** An OAuth2 application of an administrator with a secret, and grants of the victim and of the actor for it. */
  app: string;
  appSecret: string;
  grant: string;
  ownGrant: string;
  /** A template without an access list, and its active version. */
  template: string;
  templateVersion: string;
  /** Workspaces of the victim and of the actor, each with an external agent called `main`, from `startWorkspaces` on. */
  workspace: string;
  ownWorkspace: string;
  agent: string;
  ownAgent: string;
  /** Workspaces of the service account and of the actor, each with a build that a daemon runs. */
  busyWorkspace: string;
  ownBusyWorkspace: string;
}

export interface Part {
  siteRoles?: string[];
  /** Roles in the organization of the stage; undefined if the actor is not a member. */
  roles?: string[];
  /** Roles in another organization. */
  rolesElsewhere?: string[];
  /** Scopes of the credential. */
  scopes?: string[];
}

/** Sets up a stage. `client` has the credential of the actor. */
export async function enter(w: World, part: Part): Promise<{ client: Client; stage: Stage }> {
  const { siteRoles = [], roles, rolesElsewhere, scopes = ["all"] } = part;
  const stage: Stage = {
    actor: newId(),
    organization: newId(),
    victim: newId(),
    holder: newId(),
    newcomer: newId(),
    bot: newId(),
    group: newId(),
    team: newId(),
    key: randomText(10),
    ownKey: randomText(10),
    note: newId(),
    ownNote: newId(),
    app: newId(),
    appSecret: newId(),
    grant: newId(),
    ownGrant: newId(),
    template: newId(),
    templateVersion: newId(),
    workspace: newId(),
    ownWorkspace: newId(),
    agent: newId(),
    ownAgent: newId(),
    busyWorkspace: newId(),
    ownBusyWorkspace: newId(),
  };
  const session = newToken("session");
  const { actor, organization, victim, holder, newcomer, bot, group, team } = stage;
  const times = { created_at: "now", updated_at: "now" };
  const user = (id: string, site_roles: string[] = [], is_service_account = false) => ({
    ...times,
    id,
    email: `${id}@example.com`,
    username: nameOf(id),
    login_type: is_service_account ? "none" : "password",
    is_service_account,
    site_roles,
  });
  const key = (id: string, user_id: string, kind: string, secretHash: Buffer = Buffer.alloc(32)) => ({
    id,
    user_id,
    kind,
    name: kind === "token" ? id : "",
    scopes,
    secret_hash: `\\x${secretHash.toString("hex")}`,
    created_at: "now",
    expires_at: tomorrow(),
  });
  const member = (user_id: string, held: string[], organization_id = organization) => ({
    organization_id,
    user_id,
    roles: held,
    created_at: "now",
  });
  const groupMember = (group_id: string, user_id: string) => ({
    group_id,
    organization_id: organization,
    user_id,
    created_at: "now",
  });
  const note = (id: string, user_id: string) => ({
    id,
    user_id,
    seq: 1,
    template_id: newId(),
    targets: [],
    title: "Hello",
    content: "",
    icon: "",
    actions: [],
    created_at: "now",
  });
  const secret = (user_id: string) => ({
    ...times,
    id: newId(),
    user_id,
    name: "kept",
    value_bytes: 1,
    key_id: "test",
    value_nonce: "\\x",
    value_ciphertext: "\\x",
  });
  const grant = (id: string, user_id: string) => ({
    id,
    user_id,
    client_id: stage.app,
    scopes: ["all"],
    audiences: [],
    created_at: "now",
    last_used_at: "now",
    expires_at: tomorrow(),
  });
  await insertTogether(w, {
    organizations: [{ ...times, id: organization, name: nameOf(organization) }],
    users: [user(actor, siteRoles), user(victim), user(holder, ["auditor"]), user(newcomer), user(bot, [], true)],
    api_keys: [
      key(session.id, actor, "session", session.secretHash),
      key(stage.ownKey, actor, "token"),
      key(stage.key, victim, "token"),
    ],
    organization_members: [
      member(victim, []),
      member(bot, ["organization-user-admin"]),
      ...(roles ? [member(actor, roles)] : []),
      ...(rolesElsewhere ? [member(actor, rolesElsewhere, w.defaultOrganization)] : []),
    ],
    groups: [group, team].map((id) => ({ ...times, id, organization_id: organization, name: nameOf(id) })),
    group_members: [
      groupMember(group, victim),
      groupMember(team, victim),
      ...(roles ? [groupMember(team, actor)] : []),
    ],
    group_ai_budgets: [{ ...times, group_id: team, spend_limit_micros: 5 }],
    oauth2_clients: [
      {
        ...times,
        id: stage.app,
        kind: "admin",
        type: "confidential",
        name: nameOf(stage.app),
        icon: "",
        redirect_uris: ["https://app.example.com/"],
        pkce_required: false,
        grant_types: ["authorization_code"],
        metadata: {},
        is_disabled: false,
      },
    ],
    oauth2_client_secrets: [
      {
        ...times,
        id: stage.appSecret,
        client_id: stage.app,
        key: randomText(10),
        secret_hash: "\\x",
        suffix: "abcdef",
      },
    ],
    oauth2_grants: [grant(stage.grant, victim), grant(stage.ownGrant, actor)],
    inbox_notifications: [note(stage.note, victim), note(stage.ownNote, actor)],
    user_secrets: [secret(victim), secret(actor)],
    inbox_cursors: [actor, victim].map((user_id) => ({ user_id, last_seq: 1, unread_count: 1 })),
    audit_events: [
      {
        id: newId(),
        time: "now",
        actor_kind: "system",
        action: "create",
        resource_type: "organization",
        resource_id: organization,
        organization_id: organization,
        diff: {},
        request_id: "stage",
      },
    ],
    event_endpoints: [
      {
        ...times,
        id: newId(),
        organization_id: organization,
        maker_id: holder,
        name: "kept",
        url: "https://events.example.com/",
        state: "paused",
        position: 0,
      },
    ],
    ...rowsTogether(templateOf(stage), workspacesOf(stage)),
    connection_logs: [
      {
        id: newId(),
        organization_id: organization,
        workspace_id: newId(),
        workspace_name: "box",
        workspace_owner_id: victim,
        agent_name: "main",
        type: "ssh",
        connect_time: "now",
        reporter: newId(),
        connection_id: newId(),
      },
    ],
  });
  return { client: w.as({ token: session.text }), stage };
}

const started = new WeakMap<Stage, Promise<void>>();

/** Starts the workspaces of a stage, once: what owns workspaces cannot be deleted. */
export function startWorkspaces(w: World, stage: Stage): Promise<void> {
  const starting = started.get(stage) ?? insertWorkspaces(w, stage);
  started.set(stage, starting);
  return starting;
}

/** Inserts workspaces with agents, whose tokens cannot be decrypted. */
async function insertWorkspaces({ app }: World, stage: Stage): Promise<void> {
  const { pool } = app.services.database;
  const { victim, actor, workspace, ownWorkspace, agent, ownAgent, templateVersion } = stage;
  await Promise.all([
    insertWorkspace(pool, workspace, victim, nameOf(workspace), templateVersion),
    insertWorkspace(pool, ownWorkspace, actor, nameOf(ownWorkspace), templateVersion),
  ]);
  await Promise.all([
    insertAgent(pool, agent, workspace, "main", hashSecret(agent)),
    insertAgent(pool, ownAgent, ownWorkspace, "main", hashSecret(ownAgent)),
  ]);
  await pool.query(
    `update workspace_agents set is_external = true, token_ciphertext = '', token_nonce = '', token_key_id = 'test'
     where id in ($1, $2)`,
    [agent, ownAgent],
  );
}

/** The rows of the template. */
function templateOf({ organization: organization_id, bot: creator_id, template, templateVersion }: Stage) {
  const document_id = newId();
  const job_id = newId();
  const created_at = "now";
  const times = { created_at, updated_at: "now" };
  const ofOrganization = { organization_id, created_at };
  const provisioner = "echo";
  const lists = { variables: [], parameters: [], presets: [], resources: [] };
  const content = { schema: "steward.template/1", provisioner, tags: {}, ...lists };
  return {
    template_documents: [
      { id: document_id, ...ofOrganization, sha256: `\\x${document_id.replaceAll("-", "")}`, content },
    ],
    templates: [
      {
        ...times,
        id: template,
        organization_id,
        name: nameOf(template),
        creator_id,
        active_version_id: templateVersion,
      },
    ],
    template_versions: [
      {
        ...times,
        id: templateVersion,
        template_id: template,
        name: "v1",
        document_id,
        creator_id,
        job_id,
        is_imported: true,
      },
    ],
    provisioner_jobs: [
      {
        ...ofOrganization,
        id: job_id,
        type: "template_version_import",
        status: "succeeded",
        provisioner,
        tags: {},
        initiator_id: creator_id,
        document_id,
        version_id: templateVersion,
      },
    ],
  };
}

/** The rows of the workspaces, and of a template of theirs. */
function workspacesOf(stage: Stage): Record<string, object[]> {
  const { organization: organization_id, actor, bot, busyWorkspace, ownBusyWorkspace } = stage;
  const template = newId();
  const row = (id: string, owner_id: string) => ({
    id,
    created_at: "now",
    updated_at: "now",
    organization_id,
    owner_id,
    name: nameOf(id),
    template_id: template,
    latest_build_id: newId(),
    latest_status: "starting",
  });
  return {
    ...templateOf({ ...stage, template, templateVersion: newId() }),
    workspaces: [row(busyWorkspace, bot), row(ownBusyWorkspace, actor)],
  };
}

const rowsTogether = (...parts: Array<Record<string, object[]>>): Record<string, object[]> => {
  const tables = new Set(parts.flatMap((part) => Object.keys(part)));
  return Object.fromEntries(Array.from(tables, (table) => [table, parts.flatMap((part) => part[table] ?? [])]));
};

/** The rows of stages that are set up at the same time, which are inserted together: each statement costs more than a row. */
const waiting = new WeakMap<World, { parts: Array<Record<string, object[]>>; inserted: Promise<void> }>();

function insertTogether(w: World, rows: Record<string, object[]>): Promise<void> {
  const known = waiting.get(w);
  if (known) {
    known.parts.push(rows);
    return known.inserted;
  }
  const parts = [rows];
  const inserted = Promise.resolve().then(() => {
    waiting.delete(w);
    return insert(w, rowsTogether(...parts));
  });
  waiting.set(w, { parts, inserted });
  return inserted;
}

/** A unique name, from the random end of the id. */
const nameOf = (id: string) => `n${id.slice(-12)}${id.slice(-17, -13)}`;

/**
 * Inserts rows in the given order of tables, in one round trip and one transaction: nothing else happens to a user before
 * all of its rows are there. Columns that a row omits take their defaults.
 */
export async function insert(w: World, tables: Record<string, object[]>): Promise<void> {
  const connection = await w.app.services.database.pool.connect();
  try {
    await Promise.all([
      connection.query("begin"),
      ...Object.entries(tables).map(([table, rows]) => {
        const columns = Object.keys(rows[0]!).join(", ");
        const text = `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1)`;
        // Prepared: stages insert the same rows hundreds of times.
        return connection.query({ name: hash("sha1", text), text, values: [JSON.stringify(rows)] });
      }),
      connection.query("commit"),
    ]);
    // Postgres does so by itself elsewhere. Without statistics, it reads whole tables for each row.
    const large = Object.entries(tables).filter(([, rows]) => rows.length >= 500);
    for (const [table] of large) await connection.query(`analyze ${table}`);
  } finally {
    connection.release();
  }
}
