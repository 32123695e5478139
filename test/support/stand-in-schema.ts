// The operations of the protocol for provisioner daemons and for agents, as they are published.
import { buildSchema } from "graphql";

/** The schema of the socket on which daemons serve jobs. */
export const serveSchema = buildSchema(/* GraphQL */ `
  scalar JSON
  scalar JSONObject
  scalar UUID
  scalar DateTime

  type Query {
    unused: Boolean
  }

  enum ProvisionerJobType {
    TEMPLATE_VERSION_IMPORT
    TEMPLATE_VERSION_DRY_RUN
    WORKSPACE_BUILD
  }
  enum WorkspaceTransition {
    START
    STOP
    DELETE
  }
  enum ProvisionerLogLevel {
    TRACE
    DEBUG
    INFO
    WARN
    ERROR
  }
  enum ProvisionerLogSource {
    PROVISIONER_DAEMON
    PROVISIONER
  }
  enum ProvisionerJobStatus {
    PENDING
    RUNNING
    SUCCEEDED
    CANCELING
    CANCELED
    FAILED
  }

  type NamedValue {
    name: String!
    value: String!
  }
  type Owner {
    id: UUID!
    username: String!
  }
  type AssignedWorkspace {
    id: UUID!
    name: String!
    owner: Owner!
  }
  type AssignedTask {
    id: UUID!
    prompt: String!
  }
  type Assignment {
    document: JSONObject!
    variables: [NamedValue!]!
    parameters: [NamedValue!]!
    transition: WorkspaceTransition
    buildNumber: Int
    claim: Boolean!
    state: JSON
    accessUrl: String!
    workspace: AssignedWorkspace
    task: AssignedTask
  }
  type ProvisionerJobAssigned {
    jobId: UUID!
    lease: String!
    expiresAt: DateTime!
    type: ProvisionerJobType!
    tags: JSONObject!
    assignment: Assignment!
  }
  type ProvisionerJobCancelRequested {
    jobId: UUID!
  }
  type ProvisionerDrainRequested {
    reason: String!
  }
  union ProvisionerWork = ProvisionerJobAssigned | ProvisionerJobCancelRequested | ProvisionerDrainRequested

  type Subscription {
    provisionerWorkReceived(slots: Int!): ProvisionerWork!
  }

  input AcceptProvisionerJobInput {
    jobId: UUID!
    lease: String!
  }
  input LogEntryInput {
    sequence: Int!
    createdAt: DateTime!
    level: ProvisionerLogLevel!
    source: ProvisionerLogSource!
    stage: String!
    output: String!
  }
  input UpdateProvisionerJobInput {
    jobId: UUID!
    lease: String!
    logs: [LogEntryInput!]!
  }
  input ReportProvisionerResourcesInput {
    jobId: UUID!
    lease: String!
    resources: [JSONObject!]!
  }
  input CompleteProvisionerJobInput {
    jobId: UUID!
    lease: String!
    state: JSON
    pin: Boolean
  }
  input FailProvisionerJobInput {
    jobId: UUID!
    lease: String!
    error: String!
    errorCode: String
    state: JSON
    canceled: Boolean
  }

  type AcceptProvisionerJobPayload {
    expiresAt: DateTime!
  }
  type UpdateProvisionerJobPayload {
    expiresAt: DateTime!
    cancelRequested: Boolean!
    logsOverflowed: Boolean!
  }
  type ReportedAgent {
    name: String!
    agentId: UUID!
    external: Boolean!
    token: String
  }
  type ReportProvisionerResourcesPayload {
    dailyCost: Int!
    agents: [ReportedAgent!]!
  }
  type CompleteProvisionerJobPayload {
    status: ProvisionerJobStatus!
  }
  type FailProvisionerJobPayload {
    status: ProvisionerJobStatus!
  }

  type Mutation {
    acceptProvisionerJob(input: AcceptProvisionerJobInput!): AcceptProvisionerJobPayload!
    updateProvisionerJob(input: UpdateProvisionerJobInput!): UpdateProvisionerJobPayload!
    reportProvisionerResources(input: ReportProvisionerResourcesInput!): ReportProvisionerResourcesPayload!
    completeProvisionerJob(input: CompleteProvisionerJobInput!): CompleteProvisionerJobPayload!
    failProvisionerJob(input: FailProvisionerJobInput!): FailProvisionerJobPayload!
  }
`);

/** The schema of the operations of agents, over HTTP. */
export const agentSchema = buildSchema(/* GraphQL */ `
  scalar UUID
  scalar DateTime
  scalar Url
  scalar BigInt

  enum AgentRestart {
    NEVER
    ON_FAILURE
  }
  enum AgentLifecycle {
    CREATED
    STARTING
    START_TIMEOUT
    START_ERROR
    READY
    SHUTTING_DOWN
    SHUTDOWN_TIMEOUT
    SHUTDOWN_ERROR
    OFF
  }
  enum AppHealth {
    INITIALIZING
    HEALTHY
    UNHEALTHY
  }
  enum AppStatusState {
    WORKING
    IDLE
    COMPLETE
    FAILURE
  }
  enum ScriptStatus {
    OK
    EXIT_FAILURE
    TIMED_OUT
    PIPES_LEFT_OPEN
  }
  enum LogLevel {
    TRACE
    DEBUG
    INFO
    WARN
    ERROR
  }

  type AgentVariable {
    name: String!
    value: String!
  }
  type AgentFile {
    path: String!
    content: String!
  }
  type SecretError {
    name: String!
    reason: String!
  }
  type AgentManifestApp {
    slug: String!
    url: String
    healthcheckUrl: String
    healthcheckIntervalSeconds: Int
    healthcheckThreshold: Int
  }
  type AgentManifestScript {
    id: UUID!
    displayName: String!
    script: String!
    runOnStart: Boolean!
    runOnStop: Boolean!
    startBlocksLogin: Boolean!
    timeoutSeconds: Int!
    cron: String!
    logPath: String!
    logSourceId: UUID!
  }
  type AgentTask {
    id: UUID!
    prompt: String!
    app: String
  }
  type AgentManifest {
    agentId: UUID!
    agentName: String!
    workspaceId: UUID!
    workspaceName: String!
    ownerId: UUID!
    ownerUsername: String!
    buildNumber: Int!
    accessUrl: Url!
    directory: String!
    command: [String!]!
    restart: AgentRestart!
    env: [AgentVariable!]!
    secretEnv: [AgentVariable!]!
    secretFiles: [AgentFile!]!
    secretErrors: [SecretError!]!
    apps: [AgentManifestApp!]!
    scripts: [AgentManifestScript!]!
    logSourceId: UUID!
    task: AgentTask
  }

  type Query {
    agentManifest: AgentManifest!
  }

  input ReportAgentStartupInput {
    version: String!
    apiVersion: String
    expandedDirectory: String!
    subsystems: [String!]
  }
  input ReportAgentLifecycleInput {
    state: AgentLifecycle!
  }
  input AppHealthInput {
    slug: String!
    health: AppHealth!
  }
  input ReportAppHealthInput {
    apps: [AppHealthInput!]!
  }
  input ReportAppStatusInput {
    appSlug: String!
    state: AppStatusState!
    message: String!
    uri: String
  }
  input ReportScriptResultInput {
    scriptId: UUID!
    exitCode: Int!
    status: ScriptStatus!
    startedAt: DateTime
    endedAt: DateTime
  }
  input ReportAgentResourcesInput {
    memoryUsedBytes: BigInt
    memoryTotalBytes: BigInt
    diskUsedBytes: BigInt
    diskTotalBytes: BigInt
  }
  input AgentLogInput {
    createdAt: DateTime!
    level: LogLevel!
    output: String!
  }
  input AppendAgentLogsInput {
    logSourceId: UUID
    logs: [AgentLogInput!]!
  }

  type AgentHeartbeatPayload {
    shutdown: Boolean!
  }
  type AppendAgentLogsPayload {
    overflowed: Boolean!
  }
  type Done {
    done: Boolean
  }

  type Mutation {
    agentHeartbeat: AgentHeartbeatPayload!
    reportAgentStartup(input: ReportAgentStartupInput!): Done!
    reportAgentLifecycle(input: ReportAgentLifecycleInput!): Done!
    reportAppHealth(input: ReportAppHealthInput!): Done!
    reportAppStatus(input: ReportAppStatusInput!): Done!
    reportScriptResult(input: ReportScriptResultInput!): Done!
    reportAgentResources(input: ReportAgentResourcesInput!): Done!
    appendAgentLogs(input: AppendAgentLogsInput!): AppendAgentLogsPayload!
    disconnectAgent: Done!
  }
`);
