// Generated from tasks.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
export type ConversationState =
  | 'ERROR'
  | 'IDLE'
  | 'REQUIRES_ACTION'
  | 'WORKING';

export type CreateTaskInput = {
  displayName?: string | null | undefined;
  input?: string | null | undefined;
  name?: string | null | undefined;
  templateVersionId: string;
  templateVersionPresetId?: string | null | undefined;
  user?: string | null | undefined;
};

export type DecideTaskPermissionInput = {
  optionId: string;
  requestId: string;
  task: string;
  user?: string | null | undefined;
};

export type DeleteTaskInput = {
  duringBuild?: boolean | null | undefined;
  task: string;
  user?: string | null | undefined;
};

export type InterruptTaskInput = {
  task: string;
  user?: string | null | undefined;
};

export type PauseTaskInput = {
  task: string;
  user?: string | null | undefined;
};

export type PermissionOptionKind =
  | 'ALLOW_ALWAYS'
  | 'ALLOW_ONCE'
  | 'REJECT_ALWAYS'
  | 'REJECT_ONCE';

export type ResumeTaskInput = {
  task: string;
  user?: string | null | undefined;
};

export type SendTaskInputInput = {
  input: string;
  resume?: boolean | null | undefined;
  task: string;
  user?: string | null | undefined;
};

export type TaskFilter = {
  organization?: string | null | undefined;
  owner?: string | null | undefined;
  search?: string | null | undefined;
  status?: Array<TaskStatus> | null | undefined;
};

export type TaskInputState =
  | 'CANCELED'
  | 'DELIVERED'
  | 'DELIVERING'
  | 'EXPIRED'
  | 'FAILED'
  | 'QUEUED'
  | 'UNCONFIRMED';

export type TaskLogType =
  | 'INPUT'
  | 'OUTPUT';

export type TaskStateKind =
  | 'COMPLETE'
  | 'FAILED'
  | 'IDLE'
  | 'WORKING';

export type TaskStatus =
  | 'ACTIVE'
  | 'ERROR'
  | 'INITIALIZING'
  | 'PAUSED'
  | 'PENDING'
  | 'UNKNOWN';

export type WorkspaceStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'DELETED'
  | 'DELETING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'STARTING'
  | 'STOPPED'
  | 'STOPPING';

export type TaskRowFragment = { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null };

export type TasksQueryVariables = Exact<{
  filter?: TaskFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type TasksQuery = { tasks: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null }> } };

export type TaskQueryVariables = Exact<{
  task: string;
  user: string;
}>;


export type TaskQuery = { task: { workspaceStatus: WorkspaceStatus, id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, inputs: Array<{ id: string, content: string, state: TaskInputState, createdAt: string, sender: { username: string } }>, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null } | null };

export type TaskConversationQueryVariables = Exact<{
  task: string;
  user: string;
}>;


export type TaskConversationQuery = { task: { id: string, status: TaskStatus, logs: { snapshot: boolean, snapshotAt: string | null, entries: Array<{ id: number, time: string, type: TaskLogType, content: string, sender: { username: string } | null }> } } | null };

export type TaskChangedSubscriptionVariables = Exact<{
  id: string;
}>;


export type TaskChangedSubscription = { task: { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null } };

export type TaskMessagesSubscriptionVariables = Exact<{
  id: string;
}>;


export type TaskMessagesSubscription = { entry: { id: number, time: string, type: TaskLogType, content: string, sender: { username: string } | null } };

export type TaskBuildFragment = { id: string, status: WorkspaceStatus, job: { id: string } };

export type CreateTaskMutationVariables = Exact<{
  input: CreateTaskInput;
}>;


export type CreateTaskMutation = { createTask: { task: { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, workspace: { id: string, latestBuild: { id: string, status: WorkspaceStatus, job: { id: string } } | null } | null, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null } } };

export type SendTaskInputMutationVariables = Exact<{
  input: SendTaskInputInput;
}>;


export type SendTaskInputMutation = { sendTaskInput: { taskInput: { id: string, content: string, state: TaskInputState, createdAt: string } } };

export type PauseTaskMutationVariables = Exact<{
  input: PauseTaskInput;
}>;


export type PauseTaskMutation = { done: { task: { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null }, workspaceBuild: { id: string, status: WorkspaceStatus, job: { id: string } } } };

export type ResumeTaskMutationVariables = Exact<{
  input: ResumeTaskInput;
}>;


export type ResumeTaskMutation = { done: { task: { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, updatedAt: string, templateName: string, ownerName: string, workspaceName: string, initialPrompt: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null }, workspaceBuild: { id: string, status: WorkspaceStatus, job: { id: string } } } };

export type DeleteTaskMutationVariables = Exact<{
  input: DeleteTaskInput;
}>;


export type DeleteTaskMutation = { deleteTask: { task: { id: string, name: string } } };

export type TaskRequestsQueryVariables = Exact<{
  task: string;
  user: string;
}>;


export type TaskRequestsQuery = { task: { id: string, name: string, ownerName: string, conversation: { state: ConversationState | null, sessionMode: string, asksNobody: boolean, messages: { nodes: Array<{ id: string, parts: Array<
            | { __typename: 'InterruptPart' }
            | { __typename: 'PermissionPart', requestId: string, title: string, optionId: string | null, isCanceled: boolean, options: Array<{ id: string, name: string, kind: PermissionOptionKind }> }
            | { __typename: 'TextPart' }
            | { __typename: 'ToolCallPart' }
            | { __typename: 'ToolResultPart' }
          > }> } } | null } | null };

export type DecideTaskPermissionMutationVariables = Exact<{
  input: DecideTaskPermissionInput;
}>;


export type DecideTaskPermissionMutation = { decideTaskPermission: { task: { id: string } } };

export type InterruptTaskMutationVariables = Exact<{
  input: InterruptTaskInput;
}>;


export type InterruptTaskMutation = { interruptTask: { task: { id: string, name: string, ownerName: string } } };

export const Tasks = operation<TasksQuery, TasksQueryVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } query Tasks($filter: TaskFilter, $first: Int) { tasks(filter: $filter, first: $first) { totalCount nodes { ...TaskRow } } }");
export const Task = operation<TaskQuery, TaskQueryVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } query Task($task: String!, $user: String!) { task(task: $task, user: $user) { ...TaskRow workspaceStatus inputs { id content state createdAt sender { username } } } }");
export const TaskConversation = operation<TaskConversationQuery, TaskConversationQueryVariables>("query TaskConversation($task: String!, $user: String!) { task(task: $task, user: $user) { id status logs { snapshot snapshotAt entries { id time type content sender { username } } } } }");
export const TaskChanged = operation<TaskChangedSubscription, TaskChangedSubscriptionVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } subscription TaskChanged($id: UUID!) { task: taskChanged(id: $id) { ...TaskRow } }");
export const TaskMessages = operation<TaskMessagesSubscription, TaskMessagesSubscriptionVariables>("subscription TaskMessages($id: UUID!) { entry: taskMessages(id: $id) { id time type content sender { username } } }");
export const CreateTask = operation<CreateTaskMutation, CreateTaskMutationVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } fragment TaskBuild on WorkspaceBuild { id status job { id } } mutation CreateTask($input: CreateTaskInput!) { createTask(input: $input) { task { ...TaskRow workspace { id latestBuild { ...TaskBuild } } } } }");
export const SendTaskInput = operation<SendTaskInputMutation, SendTaskInputMutationVariables>("mutation SendTaskInput($input: SendTaskInputInput!) { sendTaskInput(input: $input) { taskInput { id content state createdAt } } }");
export const PauseTask = operation<PauseTaskMutation, PauseTaskMutationVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } fragment TaskBuild on WorkspaceBuild { id status job { id } } mutation PauseTask($input: PauseTaskInput!) { done: pauseTask(input: $input) { task { ...TaskRow } workspaceBuild { ...TaskBuild } } }");
export const ResumeTask = operation<ResumeTaskMutation, ResumeTaskMutationVariables>("fragment TaskRow on Task { id name displayName status createdAt updatedAt templateName ownerName workspaceName initialPrompt currentState { state message timestamp uri } } fragment TaskBuild on WorkspaceBuild { id status job { id } } mutation ResumeTask($input: ResumeTaskInput!) { done: resumeTask(input: $input) { task { ...TaskRow } workspaceBuild { ...TaskBuild } } }");
export const DeleteTask = operation<DeleteTaskMutation, DeleteTaskMutationVariables>("mutation DeleteTask($input: DeleteTaskInput!) { deleteTask(input: $input) { task { id name } } }");
export const TaskRequests = operation<TaskRequestsQuery, TaskRequestsQueryVariables>("query TaskRequests($task: String!, $user: String!) { task(task: $task, user: $user) { id name ownerName conversation { state sessionMode asksNobody messages(last: 20) { nodes { id parts { __typename ... on PermissionPart { requestId title optionId isCanceled options { id name kind } } } } } } } }");
export const DecideTaskPermission = operation<DecideTaskPermissionMutation, DecideTaskPermissionMutationVariables>("mutation DecideTaskPermission($input: DecideTaskPermissionInput!) { decideTaskPermission(input: $input) { task { id } } }");
export const InterruptTask = operation<InterruptTaskMutation, InterruptTaskMutationVariables>("mutation InterruptTask($input: InterruptTaskInput!) { interruptTask(input: $input) { task { id name ownerName } } }");