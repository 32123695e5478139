// Generated from inbox.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./api/operation";
export type UnreadQueryVariables = Exact<{ [key: string]: never; }>;


export type UnreadQuery = { unread: { totalCount: number }, newest: { nodes: Array<{ id: string }> } };

export type InboxEventsSubscriptionVariables = Exact<{
  since?: string | null | undefined;
}>;


export type InboxEventsSubscription = { inboxEvents:
    | { __typename: 'InboxNotificationAdded', cursor: string, unreadCount: number, notification: { id: string, plainTitle: string } }
    | { __typename: 'InboxUnreadCountChanged', unreadCount: number }
    | { __typename: 'InboxWatchRestarted', unreadCount: number }
   };

export const Unread = operation<UnreadQuery, UnreadQueryVariables>("query Unread { unread: inboxNotifications(filter: {readStatus: UNREAD}, first: 1) { totalCount } newest: inboxNotifications(first: 1) { nodes { id } } }");
export const InboxEvents = operation<InboxEventsSubscription, InboxEventsSubscriptionVariables>("subscription InboxEvents($since: String) { inboxEvents(since: $since) { __typename ... on InboxNotificationAdded { cursor unreadCount notification { id plainTitle } } ... on InboxUnreadCountChanged { unreadCount } ... on InboxWatchRestarted { unreadCount } } }");