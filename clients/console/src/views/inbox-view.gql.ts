// Generated from inbox-view.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CustomNotificationContentInput = {
  message?: string | null | undefined;
  title?: string | null | undefined;
};

export type InboxFilter = {
  readStatus?: InboxReadStatus | null | undefined;
  targets?: Array<string> | null | undefined;
  templates?: Array<string> | null | undefined;
};

export type InboxReadStatus =
  | 'ALL'
  | 'READ'
  | 'UNREAD';

export type MarkInboxNotificationInput = {
  id: string;
  isRead: boolean;
};

export type SendCustomNotificationInput = {
  content: CustomNotificationContentInput;
  idempotencyKey?: string | null | undefined;
};

export type InboxQueryVariables = Exact<{
  filter?: InboxFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type InboxQuery = { inboxNotifications: { totalCount: number, nodes: Array<{ id: string, plainTitle: string, plainContent: string, createdAt: string, readAt: string | null, actions: Array<{ label: string, url: string }> }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } }, unread: { totalCount: number } };

export type MarkNotificationMutationVariables = Exact<{
  input: MarkInboxNotificationInput;
}>;


export type MarkNotificationMutation = { markInboxNotification: { unreadCount: number } };

export type MarkAllReadMutationVariables = Exact<{ [key: string]: never; }>;


export type MarkAllReadMutation = { markAllInboxNotificationsRead: { unreadCount: number } };

export type SendToSelfMutationVariables = Exact<{
  input: SendCustomNotificationInput;
}>;


export type SendToSelfMutation = { sendCustomNotification: { notification: { id: string } | null } };

export const Inbox = operation<InboxQuery, InboxQueryVariables>("query Inbox($filter: InboxFilter, $first: Int, $after: String, $last: Int, $before: String) { inboxNotifications( filter: $filter first: $first after: $after last: $last before: $before ) { totalCount nodes { id plainTitle plainContent createdAt readAt actions { label url } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } unread: inboxNotifications(filter: {readStatus: UNREAD}, first: 1) { totalCount } }");
export const MarkNotification = operation<MarkNotificationMutation, MarkNotificationMutationVariables>("mutation MarkNotification($input: MarkInboxNotificationInput!) { markInboxNotification(input: $input) { unreadCount } }", {"id":{"type":"UUID","isRequired":true},"isRead":{"type":"Boolean","isRequired":true}});
export const MarkAllRead = operation<MarkAllReadMutation, MarkAllReadMutationVariables>("mutation MarkAllRead { markAllInboxNotificationsRead { unreadCount } }");
export const SendToSelf = operation<SendToSelfMutation, SendToSelfMutationVariables>("mutation SendToSelf($input: SendCustomNotificationInput!) { sendCustomNotification(input: $input) { notification { id } } }", {"content":{"type":"CustomNotificationContentInput","isRequired":true,"fields":{"message":{"type":"String","kind":"multi-line","limits":{"maxLength":2000},"words":"at most 2000 characters"},"title":{"type":"String","limits":{"maxLength":120},"words":"at most 120 characters"}}},"idempotencyKey":{"type":"String","kind":"multi-line","limits":{"maxLength":255},"words":"at most 255 characters"}});