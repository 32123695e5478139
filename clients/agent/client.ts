// The operations of an agent, over HTTP with its token.
import { version } from "../api/version.js";

export interface NamedValue {
  name: string;
  value: string;
}

export interface ManifestApp {
  slug: string;
  url: string | null;
  healthcheckUrl: string | null;
  healthcheckIntervalSeconds: number | null;
  healthcheckThreshold: number | null;
}

export interface ManifestScript {
  id: string;
  displayName: string;
  script: string;
  runOnStart: boolean;
  runOnStop: boolean;
  /** 0 means no timeout. */
  timeoutSeconds: number;
  /** When it runs, as a cron expression; may be empty. */
  cron: string;
  /** Path of a file that receives its output; may be empty. */
  logPath: string;
  logSourceId: string;
}

/** The instructions for an agent, and the secrets of the workspace's owner. */
export interface Manifest {
  agentId: string;
  agentName: string;
  workspaceId: string;
  buildNumber: number;
  workspaceName: string;
  ownerUsername: string;
  directory: string;
  command: string[];
  restart: "NEVER" | "ON_FAILURE";
  env: NamedValue[];
  secretEnv: NamedValue[];
  secretFiles: Array<{ path: string; content: string }>;
  secretErrors: Array<{ name: string; reason: string }>;
  apps: ManifestApp[];
  scripts: ManifestScript[];
  logSourceId: string;
  /** `app` is the slug of the app of this agent at which the program of the task is reached. */
  task: ManifestTask | null;
}

export interface ManifestTask {
  id: string;
  prompt: string;
  app: string | null;
  protocol: TaskProtocol;
  /** The bearer token by which its program knows Steward. */
  appToken: string;
  /** Options of the session of a program that speaks ACP. */
  mode: string | null;
  model: string | null;
  effort: string | null;
}

export type TaskProtocol = "AGENTAPI" | "ACP";

/** A message of the structured conversation, as far as a program gets it back. */
export interface ConversationMessage {
  role: "USER" | "AGENT";
  parts: Array<Pick<ReportedPart, "kind" | "text" | "title">>;
  isCut: boolean;
  writtenAt: string;
  buildNumber: number;
}

export interface BegunConversation {
  sessionId: string | null;
  omittedCount: number;
  messages: ConversationMessage[];
}

export type ConversationState = "WORKING" | "IDLE" | "REQUIRES_ACTION" | "ERROR";

export interface ReportedPart {
  kind: "TEXT" | "TOOL_CALL" | "TOOL_RESULT" | "PERMISSION" | "INTERRUPT";
  text?: string;
  toolCallId?: string;
  title?: string;
  toolKind?: string;
  status?: "PENDING" | "IN_PROGRESS" | "COMPLETED" | "FAILED";
  input?: string;
  isError?: boolean;
  requestId?: string;
  options?: Array<{ id: string; name: string; kind: string }>;
  optionId?: string | null;
  isCanceled?: boolean;
}

export interface ReportedMessage {
  key: string;
  role: "USER" | "AGENT";
  parts: ReportedPart[];
  isCut?: boolean;
  writtenAt: string;
}

export interface ConversationReport {
  taskId: string;
  state?: ConversationState;
  stateMessage?: string;
  sessionId?: string;
  sessionMode?: string;
  asksNobody?: boolean;
  messages?: ReportedMessage[];
  finishedActionIds?: string[];
}

const manifestQuery = /* GraphQL */ `
  query AgentManifest {
    agentManifest {
      agentId
      agentName
      workspaceId
      buildNumber
      workspaceName
      ownerUsername
      directory
      command
      restart
      env {
        name
        value
      }
      secretEnv {
        name
        value
      }
      secretFiles {
        path
        content
      }
      secretErrors {
        name
        reason
      }
      apps {
        slug
        url
        healthcheckUrl
        healthcheckIntervalSeconds
        healthcheckThreshold
      }
      scripts {
        id
        displayName
        script
        runOnStart
        runOnStop
        timeoutSeconds
        cron
        logPath
        logSourceId
      }
      logSourceId
      task {
        id
        prompt
        app
        protocol
        appToken
        mode
        model
        effort
      }
    }
  }
`;

export type Lifecycle =
  | "STARTING"
  | "START_TIMEOUT"
  | "START_ERROR"
  | "READY"
  | "SHUTTING_DOWN"
  | "SHUTDOWN_TIMEOUT"
  | "SHUTDOWN_ERROR"
  | "OFF";

export type AppHealth = "HEALTHY" | "UNHEALTHY";

export type LogLevel = "DEBUG" | "INFO" | "WARN" | "ERROR";

export interface LogLine {
  createdAt: string;
  level: LogLevel;
  output: string;
}

export interface ScriptResult {
  scriptId: string;
  exitCode: number;
  status: "OK" | "EXIT_FAILURE" | "TIMED_OUT" | "PIPES_LEFT_OPEN";
  startedAt: string;
  endedAt: string;
}

export interface Resources {
  /** Thousandths of a processor; absent in the first report, which has no earlier one to compare with. */
  cpuUsedMillicores?: number;
  cpuTotalMillicores: number;
  memoryUsedBytes: number;
  memoryTotalBytes: number;
  diskUsedBytes: number;
  diskTotalBytes: number;
}

/** The token is not valid: the build of the agent is not the latest start, or the workspace was stopped. */
export class TokenEnded extends Error {
  constructor() {
    super("The server does not accept the agent's token. It ends with the workspace's next stop or start.");
  }
}

/** The server rejected an operation. A repetition fails as well, unless `isTemporary`. */
export class OperationFailed extends Error {
  constructor(
    message: string,
    readonly isTemporary: boolean,
  ) {
    super(message);
  }
}

interface Result<Data> {
  data?: Data;
  errors?: Array<{ message: string; extensions?: { code?: string } }>;
}

/** The kinds of parts by their types. */
const partKinds: Record<string, ReportedPart["kind"]> = {
  TextPart: "TEXT",
  ToolCallPart: "TOOL_CALL",
  ToolResultPart: "TOOL_RESULT",
  PermissionPart: "PERMISSION",
  InterruptPart: "INTERRUPT",
};

/** A mutation with its input; the payload's `__typename` stands for a selection. */
const mutation = (name: string, selection = "__typename") => {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input`;
  return `mutation ($input: ${type}!) { ${name}(input: $input) { ${selection} } }`;
};

/** Executes the operations of one agent. All of them throw `TokenEnded` or `OperationFailed`. */
export class AgentClient {
  constructor(
    private readonly url: string,
    readonly token: string,
    private readonly timeout: number,
  ) {}

  async manifest(): Promise<Manifest> {
    return (await this.#execute<{ agentManifest: Manifest }>(manifestQuery)).agentManifest;
  }

  /** Returns whether the agent must shut down. */
  async heartbeat(): Promise<boolean> {
    const operation = "mutation { agentHeartbeat { shutdown } }";
    return (await this.#execute<{ agentHeartbeat: { shutdown: boolean } }>(operation)).agentHeartbeat.shutdown;
  }

  async startup(expandedDirectory: string): Promise<void> {
    await this.#execute(mutation("reportAgentStartup"), { version, apiVersion: "1.0", expandedDirectory });
  }

  async lifecycle(state: Lifecycle): Promise<void> {
    await this.#execute(mutation("reportAgentLifecycle"), { state });
  }

  async appHealth(apps: Array<{ slug: string; health: AppHealth }>): Promise<void> {
    await this.#execute(mutation("reportAppHealth"), { apps });
  }

  /** Reports that the program of an app has failed, with a message of at most 160 bytes. */
  async appFailure(appSlug: string, message: string): Promise<void> {
    await this.#execute(mutation("reportAppStatus"), { appSlug, state: "FAILURE", message });
  }

  async scriptResult(result: ScriptResult): Promise<void> {
    await this.#execute(mutation("reportScriptResult"), result);
  }

  async resources(resources: Resources): Promise<void> {
    await this.#execute(mutation("reportAgentResources"), resources);
  }

  /** Returns whether the agent's log is full. */
  async appendLogs(logSourceId: string, logs: readonly LogLine[]): Promise<boolean> {
    const operation = mutation("appendAgentLogs", "overflowed");
    type Data = { appendAgentLogs: { overflowed: boolean } };
    return (await this.#execute<Data>(operation, { logSourceId, logs })).appendAgentLogs.overflowed;
  }

  /** Stores the conversation of a task: messages as AgentAPI has them. */
  async snapshot(taskId: string, content: object): Promise<void> {
    await this.#execute(mutation("uploadTaskLogSnapshot"), { taskId, format: "agentapi", content });
  }

  /** Begins or continues the conversation of a task. Returns what was said before. */
  async beginConversation(taskId: string, protocol: TaskProtocol): Promise<BegunConversation> {
    const parts = `type: __typename ... on TextPart { text } ... on ToolCallPart { title } ... on PermissionPart { title }
      ... on InterruptPart { text }`;
    const selection = `sessionId omittedCount messages { role isCut writtenAt buildNumber parts { ${parts} } }`;
    const operation = mutation("beginTaskConversation", selection);
    type Message = Omit<ConversationMessage, "parts"> & {
      parts: Array<{ type: string; text?: string; title?: string }>;
    };
    type Data = { beginTaskConversation: Omit<BegunConversation, "messages"> & { messages: Message[] } };
    const input = { taskId, protocol, takesInputs: protocol === "ACP" };
    const { messages, ...begun } = (await this.#execute<Data>(operation, input)).beginTaskConversation;
    const partOf = ({ type, ...part }: Message["parts"][number]) => ({
      ...part,
      kind: partKinds[type] ?? "TOOL_RESULT",
    });
    return { ...begun, messages: messages.map((each) => ({ ...each, parts: each.parts.map(partOf) })) };
  }

  async reportConversation(report: ConversationReport): Promise<void> {
    await this.#execute(mutation("reportTaskConversation"), report);
  }

  async disconnect(): Promise<void> {
    await this.#execute("mutation { disconnectAgent { __typename } }");
  }

  async #execute<Data>(query: string, input?: object): Promise<Data> {
    const { status, data, errors } = await this.#post<Data>({ query, ...(input && { variables: { input } }) });
    const [error] = errors ?? [];
    const code = error?.extensions?.code;
    if (status === 401 || code === "UNAUTHENTICATED") throw new TokenEnded();
    if (data && !error) return data;
    const isTemporary =
      error === undefined || status === 429 || status >= 500 || code === "UNAVAILABLE" || code === "RATE_LIMITED";
    throw new OperationFailed(error?.message ?? `The server responded with status ${status}.`, isTemporary);
  }

  async #post<Data>(body: object): Promise<Result<Data> & { status: number }> {
    const signal = AbortSignal.timeout(this.timeout);
    const headers = { "Content-Type": "application/json", "Service-Session-Token": this.token };
    try {
      const options = { method: "POST", headers, body: JSON.stringify(body), redirect: "manual" as const, signal };
      const response = await fetch(`${this.url}/graphql`, options);
      const result = (await response.json().catch(() => ({}))) as Result<Data>;
      return { ...result, status: response.status };
    } catch (error) {
      const { message, cause } = error as Error & { cause?: Error };
      throw new OperationFailed(`The server cannot be reached: ${cause?.message ?? message}`, true);
    }
  }
}
