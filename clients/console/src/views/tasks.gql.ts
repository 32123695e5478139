// Generated from tasks.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CancelTaskInputInput = {
  id: string;
};

export type ConversationRole =
  | 'AGENT'
  | 'USER';

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

export type EditTaskInputInput = {
  id: string;
  input: string;
};

export type InterruptTaskInput = {
  task: string;
  user?: string | null | undefined;
};

export type OrderDirection =
  | 'ASC'
  | 'DESC';

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
  unhealthy?: boolean | null | undefined;
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

export type TaskOrder = {
  direction: OrderDirection;
  field: TaskOrderField;
};

export type TaskOrderField =
  | 'CREATED_AT';

export type TaskProtocol =
  | 'ACP'
  | 'AGENTAPI';

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

export type ToolCallStatus =
  | 'COMPLETED'
  | 'FAILED'
  | 'IN_PROGRESS'
  | 'PENDING';

export type UpdateTaskInputInput = {
  input: string;
  task: string;
  user?: string | null | undefined;
};

export type WorkspaceHealthState =
  | 'HEALTHY'
  | 'IN_PROGRESS'
  | 'UNHEALTHY';

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

export type TasksQueryVariables = Exact<{
  filter?: TaskFilter | null | undefined;
  orderBy?: TaskOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type TasksQuery = { tasks: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, templateName: string, templateDisplayName: string, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string, name: string }, currentState: { state: TaskStateKind, message: string } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type TaskRowFragment = { id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, templateName: string, templateDisplayName: string, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string, name: string }, currentState: { state: TaskStateKind, message: string } | null };

export type TaskQueryVariables = Exact<{
  id: string;
}>;


export type TaskQuery = { task: { initialPrompt: string, updatedAt: string, workspaceId: string | null, workspaceName: string, workspaceStatus: WorkspaceStatus, id: string, name: string, displayName: string, status: TaskStatus, createdAt: string, templateName: string, templateDisplayName: string, currentState: { state: TaskStateKind, message: string, timestamp: string, uri: string } | null, inputs: Array<{ id: string, content: string, state: TaskInputState, createdAt: string, deliveredAt: string | null, lastError: string, sender: { id: string, username: string, name: string } }>, health: { state: WorkspaceHealthState, reason: string | null, since: string | null, help: string | null }, owner: { id: string, username: string, name: string } } | null };

export type TaskConversationQueryVariables = Exact<{
  id: string;
}>;


export type TaskConversationQuery = { task: { id: string, logs: { snapshot: boolean, snapshotAt: string | null, entries: Array<{ id: number, content: string, time: string, type: TaskLogType, sender: { username: string, name: string } | null }> } } | null };

export type TaskPartsQueryVariables = Exact<{
  id: string;
}>;


export type TaskPartsQuery = { task: { id: string, conversation: { protocol: TaskProtocol, state: ConversationState | null, sessionMode: string, asksNobody: boolean, omittedCount: number, messages: { nodes: Array<{ id: string, role: ConversationRole, isCut: boolean, sender: { username: string, name: string } | null, parts: Array<
            | { __typename: 'InterruptPart', reason: string }
            | { __typename: 'PermissionPart', requestId: string, title: string, optionId: string | null, isCanceled: boolean, options: Array<{ id: string, name: string, kind: PermissionOptionKind }> }
            | { __typename: 'TextPart', text: string, html: string }
            | { __typename: 'ToolCallPart', title: string, callStatus: ToolCallStatus }
            | { __typename: 'ToolResultPart', isError: boolean, result: string }
          > }> } } | null } | null };

export type TaskConversationChangedSubscriptionVariables = Exact<{
  id: string;
}>;


export type TaskConversationChangedSubscription = { taskConversationChanged: { conversation: { revision: number } } };

export type DecideTaskPermissionMutationVariables = Exact<{
  input: DecideTaskPermissionInput;
}>;


export type DecideTaskPermissionMutation = { decideTaskPermission: { task: { id: string } } };

export type InterruptTaskMutationVariables = Exact<{
  input: InterruptTaskInput;
}>;


export type InterruptTaskMutation = { interruptTask: { task: { id: string } } };

export type TaskChangedSubscriptionVariables = Exact<{
  id?: string | null | undefined;
  user?: string | null | undefined;
}>;


export type TaskChangedSubscription = { taskChanged: { id: string } };

export type TaskMessagesSubscriptionVariables = Exact<{
  id: string;
}>;


export type TaskMessagesSubscription = { taskMessages: { id: number, content: string, time: string, type: TaskLogType, sender: { username: string, name: string } | null } };

export type CreateTaskMutationVariables = Exact<{
  input: CreateTaskInput;
}>;


export type CreateTaskMutation = { createTask: { task: { id: string } } };

export type SendTaskInputMutationVariables = Exact<{
  input: SendTaskInputInput;
}>;


export type SendTaskInputMutation = { sendTaskInput: { taskInput: { id: string } } };

export type EditTaskInputMutationVariables = Exact<{
  input: EditTaskInputInput;
}>;


export type EditTaskInputMutation = { editTaskInput: { taskInput: { id: string } } };

export type CancelTaskInputMutationVariables = Exact<{
  input: CancelTaskInputInput;
}>;


export type CancelTaskInputMutation = { cancelTaskInput: { taskInput: { id: string } } };

export type UpdateTaskPromptMutationVariables = Exact<{
  input: UpdateTaskInputInput;
}>;


export type UpdateTaskPromptMutation = { updateTaskInput: { task: { id: string } } };

export type PauseTaskMutationVariables = Exact<{
  input: PauseTaskInput;
}>;


export type PauseTaskMutation = { pauseTask: { task: { id: string } } };

export type ResumeTaskMutationVariables = Exact<{
  input: ResumeTaskInput;
}>;


export type ResumeTaskMutation = { resumeTask: { task: { id: string } } };

export type DeleteTaskMutationVariables = Exact<{
  input: DeleteTaskInput;
}>;


export type DeleteTaskMutation = { deleteTask: { task: { id: string } } };

export const Tasks = operation<TasksQuery, TasksQueryVariables>("query Tasks($filter: TaskFilter, $orderBy: TaskOrder, $first: Int, $after: String, $last: Int, $before: String) { tasks( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { ...TaskRow } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } fragment TaskRow on Task { id name displayName status health { state reason since help } createdAt templateName templateDisplayName owner { id username name } currentState { state message } }");
export const Task = operation<TaskQuery, TaskQueryVariables>("fragment TaskRow on Task { id name displayName status health { state reason since help } createdAt templateName templateDisplayName owner { id username name } currentState { state message } } query Task($id: String!) { task(task: $id) { ...TaskRow initialPrompt updatedAt workspaceId workspaceName workspaceStatus currentState { state message timestamp uri } inputs { id content state createdAt deliveredAt lastError sender { id username name } } } }");
export const TaskConversation = operation<TaskConversationQuery, TaskConversationQueryVariables>("query TaskConversation($id: String!) { task(task: $id) { id logs { snapshot snapshotAt entries { id content time type sender { username name } } } } }");
export const TaskParts = operation<TaskPartsQuery, TaskPartsQueryVariables>("query TaskParts($id: String!) { task(task: $id) { id conversation { protocol state sessionMode asksNobody omittedCount messages(last: 200) { nodes { id role sender { username name } isCut parts { __typename ... on TextPart { text html } ... on ToolCallPart { title callStatus: status } ... on ToolResultPart { result: text isError } ... on PermissionPart { requestId title options { id name kind } optionId isCanceled } ... on InterruptPart { reason: text } } } } } } }");
export const TaskConversationChanged = operation<TaskConversationChangedSubscription, TaskConversationChangedSubscriptionVariables>("subscription TaskConversationChanged($id: UUID!) { taskConversationChanged(id: $id) { conversation { revision } } }");
export const DecideTaskPermission = operation<DecideTaskPermissionMutation, DecideTaskPermissionMutationVariables>("mutation DecideTaskPermission($input: DecideTaskPermissionInput!) { decideTaskPermission(input: $input) { task { id } } }", {"optionId":{"type":"String","isRequired":true},"requestId":{"type":"String","isRequired":true},"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const InterruptTask = operation<InterruptTaskMutation, InterruptTaskMutationVariables>("mutation InterruptTask($input: InterruptTaskInput!) { interruptTask(input: $input) { task { id } } }", {"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const TaskChanged = operation<TaskChangedSubscription, TaskChangedSubscriptionVariables>("subscription TaskChanged($id: UUID, $user: String) { taskChanged(id: $id, user: $user) { id } }");
export const TaskMessages = operation<TaskMessagesSubscription, TaskMessagesSubscriptionVariables>("subscription TaskMessages($id: UUID!) { taskMessages(id: $id) { id content time type sender { username name } } }");
export const CreateTask = operation<CreateTaskMutation, CreateTaskMutationVariables>("mutation CreateTask($input: CreateTaskInput!) { createTask(input: $input) { task { id } } }", {"displayName":{"type":"String","limits":{"maxLength":64}},"input":{"type":"String","kind":"multi-line","limits":{"pattern":"^[^\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f]*$"}},"name":{"type":"String","limits":{"maxLength":32,"pattern":"^$|^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"},"templateVersionId":{"type":"UUID","isRequired":true},"templateVersionPresetId":{"type":"UUID"},"user":{"type":"String","kind":"reference"}});
export const SendTaskInput = operation<SendTaskInputMutation, SendTaskInputMutationVariables>("mutation SendTaskInput($input: SendTaskInputInput!) { sendTaskInput(input: $input) { taskInput { id } } }", {"input":{"type":"String","kind":"multi-line","limits":{"pattern":"^[^\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f]*$"},"isRequired":true},"resume":{"type":"Boolean"},"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const EditTaskInput = operation<EditTaskInputMutation, EditTaskInputMutationVariables>("mutation EditTaskInput($input: EditTaskInputInput!) { editTaskInput(input: $input) { taskInput { id } } }", {"id":{"type":"UUID","isRequired":true},"input":{"type":"String","kind":"multi-line","limits":{"pattern":"^[^\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f]*$"},"isRequired":true}});
export const CancelTaskInput = operation<CancelTaskInputMutation, CancelTaskInputMutationVariables>("mutation CancelTaskInput($input: CancelTaskInputInput!) { cancelTaskInput(input: $input) { taskInput { id } } }", {"id":{"type":"UUID","isRequired":true}});
export const UpdateTaskPrompt = operation<UpdateTaskPromptMutation, UpdateTaskPromptMutationVariables>("mutation UpdateTaskPrompt($input: UpdateTaskInputInput!) { updateTaskInput(input: $input) { task { id } } }", {"input":{"type":"String","kind":"multi-line","limits":{"pattern":"^[^\\x01-\\x08\\x0b\\x0c\\x0e-\\x1f]*$"},"isRequired":true},"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const PauseTask = operation<PauseTaskMutation, PauseTaskMutationVariables>("mutation PauseTask($input: PauseTaskInput!) { pauseTask(input: $input) { task { id } } }", {"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const ResumeTask = operation<ResumeTaskMutation, ResumeTaskMutationVariables>("mutation ResumeTask($input: ResumeTaskInput!) { resumeTask(input: $input) { task { id } } }", {"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});
export const DeleteTask = operation<DeleteTaskMutation, DeleteTaskMutationVariables>("mutation DeleteTask($input: DeleteTaskInput!) { deleteTask(input: $input) { task { id } } }", {"duringBuild":{"type":"Boolean"},"task":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference"}});