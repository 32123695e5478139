// Generated from inbox.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./api/operation";
export type InboxFilter = {
  readStatus?: InboxReadStatus | null | undefined;
  targets?: Array<string> | null | undefined;
  templates?: Array<string> | null | undefined;
};

export type InboxReadStatus =
  | 'ALL'
  | 'READ'
  | 'UNREAD';

export type InboxQueryVariables = Exact<{
  filter?: InboxFilter | null | undefined;
}>;


export type InboxQuery = { inboxNotifications: { totalCount: number, nodes: Array<{ id: string, title: string, content: string, createdAt: string, readAt: string | null, actions: Array<{ label: string, url: string }> }> }, unread: { totalCount: number, nodes: Array<{ id: string }> }, newest: { nodes: Array<{ id: string }> } };

export type InboxEventsSubscriptionVariables = Exact<{
  since?: string | null | undefined;
}>;


export type InboxEventsSubscription = { inboxEvents:
    | { __typename: 'InboxNotificationAdded', cursor: string, unreadCount: number, notification: { id: string, title: string } }
    | { __typename: 'InboxUnreadCountChanged', unreadCount: number }
    | { __typename: 'InboxWatchRestarted', unreadCount: number }
   };

export const Inbox = operation<InboxQuery, InboxQueryVariables>("query Inbox($filter: InboxFilter) { inboxNotifications(filter: $filter, first: 50) { totalCount nodes { id title content createdAt readAt actions { label url } } } unread: inboxNotifications(filter: {readStatus: UNREAD}, first: 1) { totalCount nodes { id } } newest: inboxNotifications(first: 1) { nodes { id } } }");
export const InboxEvents = operation<InboxEventsSubscription, InboxEventsSubscriptionVariables>("subscription InboxEvents($since: String) { inboxEvents(since: $since) { __typename ... on InboxNotificationAdded { cursor unreadCount notification { id title } } ... on InboxUnreadCountChanged { unreadCount } ... on InboxWatchRestarted { unreadCount } } }");