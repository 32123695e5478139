// Generated from inbox-view.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type MarkInboxNotificationInput = {
  id: string;
  isRead: boolean;
};

export type MarkNotificationMutationVariables = Exact<{
  input: MarkInboxNotificationInput;
}>;


export type MarkNotificationMutation = { markInboxNotification: { unreadCount: number } };

export type MarkAllReadMutationVariables = Exact<{ [key: string]: never; }>;


export type MarkAllReadMutation = { markAllInboxNotificationsRead: { unreadCount: number } };

export const MarkNotification = operation<MarkNotificationMutation, MarkNotificationMutationVariables>("mutation MarkNotification($input: MarkInboxNotificationInput!) { markInboxNotification(input: $input) { unreadCount } }", {"id":{"type":"UUID","hint":"The notification.","isRequired":true},"isRead":{"type":"Boolean","hint":"True marks it as read, false as unread.","isRequired":true}});
export const MarkAllRead = operation<MarkAllReadMutation, MarkAllReadMutationVariables>("mutation MarkAllRead { markAllInboxNotificationsRead { unreadCount } }");