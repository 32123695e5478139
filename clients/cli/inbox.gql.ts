// Generated from inbox.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
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

export type NotificationRowFragment = { id: string, title: string, content: string, plainTitle: string, plainContent: string, createdAt: string, readAt: string | null, actions: Array<{ label: string, url: string }> };

export type InboxQueryVariables = Exact<{
  filter?: InboxFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type InboxQuery = { inboxNotifications: { unreadCount: number, nodes: Array<{ id: string, title: string, content: string, plainTitle: string, plainContent: string, createdAt: string, readAt: string | null, actions: Array<{ label: string, url: string }> }> } };

export type InboxEventsSubscriptionVariables = Exact<{
  filter?: InboxFilter | null | undefined;
  since?: string | null | undefined;
}>;


export type InboxEventsSubscription = { event:
    | { __typename: 'InboxNotificationAdded', cursor: string, unreadCount: number, notification: { id: string, title: string, content: string, plainTitle: string, plainContent: string, createdAt: string, readAt: string | null, actions: Array<{ label: string, url: string }> } }
    | { __typename: 'InboxUnreadCountChanged', unreadCount: number }
    | { __typename: 'InboxWatchRestarted', unreadCount: number }
   };

export type MarkNotificationMutationVariables = Exact<{
  input: MarkInboxNotificationInput;
}>;


export type MarkNotificationMutation = { markInboxNotification: { unreadCount: number, notification: { id: string, readAt: string | null } } };

export type MarkAllNotificationsMutationVariables = Exact<{ [key: string]: never; }>;


export type MarkAllNotificationsMutation = { markAllInboxNotificationsRead: { __typename: 'MarkAllInboxNotificationsReadPayload' } };

export const Inbox = operation<InboxQuery, InboxQueryVariables>("fragment NotificationRow on InboxNotification { id title content plainTitle plainContent createdAt readAt actions { label url } } query Inbox($filter: InboxFilter, $first: Int) { inboxNotifications(filter: $filter, first: $first) { unreadCount nodes { ...NotificationRow } } }");
export const InboxEvents = operation<InboxEventsSubscription, InboxEventsSubscriptionVariables>("fragment NotificationRow on InboxNotification { id title content plainTitle plainContent createdAt readAt actions { label url } } subscription InboxEvents($filter: InboxFilter, $since: String) { event: inboxEvents(filter: $filter, since: $since) { __typename ... on InboxNotificationAdded { cursor unreadCount notification { ...NotificationRow } } ... on InboxUnreadCountChanged { unreadCount } ... on InboxWatchRestarted { unreadCount } } }");
export const MarkNotification = operation<MarkNotificationMutation, MarkNotificationMutationVariables>("mutation MarkNotification($input: MarkInboxNotificationInput!) { markInboxNotification(input: $input) { unreadCount notification { id readAt } } }");
export const MarkAllNotifications = operation<MarkAllNotificationsMutation, MarkAllNotificationsMutationVariables>("mutation MarkAllNotifications { markAllInboxNotificationsRead { __typename } }");