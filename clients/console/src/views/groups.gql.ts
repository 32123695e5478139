// Generated from groups.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CreateGroupInput = {
  avatarUrl?: string | null | undefined;
  displayName?: string | null | undefined;
  name: string;
  organization: string;
  quotaAllowance?: number | null | undefined;
};

export type DeleteGroupAiBudgetInput = {
  group: string;
};

export type DeleteGroupInput = {
  group: string;
};

export type GroupFilter = {
  hasMember?: string | null | undefined;
  ids?: Array<string> | null | undefined;
  organization?: string | null | undefined;
  search?: string | null | undefined;
  source?: GroupSource | null | undefined;
};

export type GroupOrder = {
  direction: OrderDirection;
  field: GroupOrderField;
};

export type GroupOrderField =
  | 'NAME';

export type GroupSource =
  | 'OIDC'
  | 'USER';

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type SetGroupAiBudgetInput = {
  group: string;
  spendLimitMicros: number;
};

export type UpdateGroupInput = {
  addUsers?: Array<string> | null | undefined;
  avatarUrl?: string | null | undefined;
  displayName?: string | null | undefined;
  group: string;
  name?: string | null | undefined;
  quotaAllowance?: number | null | undefined;
  removeUsers?: Array<string> | null | undefined;
};

export type GroupsQueryVariables = Exact<{
  filter?: GroupFilter | null | undefined;
  orderBy?: GroupOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type GroupsQuery = { groups: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, source: GroupSource, isEveryone: boolean, quotaAllowance: number, totalMemberCount: number, aiBudget: { spendLimitMicros: number } | null, organization: { id: string, name: string, displayName: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type GroupQueryVariables = Exact<{
  group: string;
}>;


export type GroupQuery = { group: { id: string, name: string, displayName: string, source: GroupSource, isEveryone: boolean, quotaAllowance: number, totalMemberCount: number, createdAt: string, avatarUrl: string, aiBudget: { spendLimitMicros: number } | null, organization: { id: string, name: string, displayName: string } } | null };

export type GroupMembersQueryVariables = Exact<{
  group: string;
  search?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type GroupMembersQuery = { group: { id: string, members: { totalCount: number, nodes: Array<{ addedAt: string | null, user: { id: string, username: string, name: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } } | null };

export type CandidatesQueryVariables = Exact<{
  organization: string;
  search: string;
}>;


export type CandidatesQuery = { organizationMembers: { nodes: Array<{ id: string, username: string, name: string }> } };

export type CreateGroupMutationVariables = Exact<{
  input: CreateGroupInput;
}>;


export type CreateGroupMutation = { createGroup: { group: { id: string } } };

export type UpdateGroupMutationVariables = Exact<{
  input: UpdateGroupInput;
}>;


export type UpdateGroupMutation = { updateGroup: { group: { id: string } } };

export type DeleteGroupMutationVariables = Exact<{
  input: DeleteGroupInput;
}>;


export type DeleteGroupMutation = { deleteGroup: { group: { id: string } } };

export type SetGroupAiBudgetMutationVariables = Exact<{
  input: SetGroupAiBudgetInput;
}>;


export type SetGroupAiBudgetMutation = { setGroupAiBudget: { groupAiBudget: { spendLimitMicros: number } } };

export type DeleteGroupAiBudgetMutationVariables = Exact<{
  input: DeleteGroupAiBudgetInput;
}>;


export type DeleteGroupAiBudgetMutation = { deleteGroupAiBudget: { groupAiBudget: { spendLimitMicros: number } } };

export const Groups = operation<GroupsQuery, GroupsQueryVariables>("query Groups($filter: GroupFilter, $orderBy: GroupOrder, $first: Int, $after: String, $last: Int, $before: String) { groups( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id name displayName source isEveryone quotaAllowance totalMemberCount aiBudget { spendLimitMicros } organization { id name displayName } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const Group = operation<GroupQuery, GroupQueryVariables>("query Group($group: String!) { group(group: $group) { id name displayName source isEveryone quotaAllowance totalMemberCount aiBudget { spendLimitMicros } createdAt avatarUrl organization { id name displayName } } }");
export const GroupMembers = operation<GroupMembersQuery, GroupMembersQueryVariables>("query GroupMembers($group: String!, $search: String, $first: Int, $after: String, $last: Int, $before: String) { group(group: $group) { id members( filter: {search: $search} first: $first after: $after last: $last before: $before ) { totalCount nodes { addedAt user { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }");
export const Candidates = operation<CandidatesQuery, CandidatesQueryVariables>("query Candidates($organization: String!, $search: String!) { organizationMembers( organization: $organization filter: {search: $search} first: 6 ) { nodes { id username name } } }");
export const CreateGroup = operation<CreateGroupMutation, CreateGroupMutationVariables>("mutation CreateGroup($input: CreateGroupInput!) { createGroup(input: $input) { group { id } } }", {"avatarUrl":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"name":{"type":"String","limits":{"minLength":1,"maxLength":36,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 36 letters, digits, and single hyphens between them","isRequired":true},"organization":{"type":"String","kind":"reference","isRequired":true},"quotaAllowance":{"type":"Int","limits":{"minimum":0,"maximum":2147483647},"words":"at least 0"}});
export const UpdateGroup = operation<UpdateGroupMutation, UpdateGroupMutationVariables>("mutation UpdateGroup($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }", {"addUsers":{"type":"UUID","limits":{"maxItems":1000},"isList":true},"avatarUrl":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"group":{"type":"String","kind":"reference","isRequired":true},"name":{"type":"String","limits":{"maxLength":36,"pattern":"^$|^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 36 letters, digits, and single hyphens between them"},"quotaAllowance":{"type":"Int","limits":{"minimum":0,"maximum":2147483647},"words":"at least 0"},"removeUsers":{"type":"UUID","limits":{"maxItems":1000},"isList":true}});
export const DeleteGroup = operation<DeleteGroupMutation, DeleteGroupMutationVariables>("mutation DeleteGroup($input: DeleteGroupInput!) { deleteGroup(input: $input) { group { id } } }", {"group":{"type":"String","kind":"reference","isRequired":true}});
export const SetGroupAiBudget = operation<SetGroupAiBudgetMutation, SetGroupAiBudgetMutationVariables>("mutation SetGroupAiBudget($input: SetGroupAiBudgetInput!) { setGroupAiBudget(input: $input) { groupAiBudget { spendLimitMicros } } }", {"group":{"type":"String","kind":"reference","isRequired":true},"spendLimitMicros":{"type":"BigInt","limits":{"minimum":1,"maximum":9007199254740991},"words":"at least 1","isRequired":true}});
export const DeleteGroupAiBudget = operation<DeleteGroupAiBudgetMutation, DeleteGroupAiBudgetMutationVariables>("mutation DeleteGroupAiBudget($input: DeleteGroupAiBudgetInput!) { deleteGroupAiBudget(input: $input) { groupAiBudget { spendLimitMicros } } }", {"group":{"type":"String","kind":"reference","isRequired":true}});