// Generated from notification-settings.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type DiscardNotificationMessagesInput = {
  filter?: UndeliveredNotificationFilter | null | undefined;
  ids?: Array<string> | null | undefined;
};

export type NotificationAttemptOutcome =
  | 'DONE'
  | 'FATAL'
  | 'LOST'
  | 'RETRYABLE'
  | 'SKIPPED';

export type NotificationDeliveryMethod =
  | 'INBOX'
  | 'SMTP'
  | 'WEBHOOK';

export type NotificationMessageFilter = {
  after?: string | null | undefined;
  before?: string | null | undefined;
  method?: NotificationDeliveryMethod | null | undefined;
  state?: NotificationMessageState | null | undefined;
  template?: string | null | undefined;
  user?: string | null | undefined;
};

export type NotificationMessageState =
  | 'DISCARDED'
  | 'INHIBITED'
  | 'LEASED'
  | 'PENDING'
  | 'PERMANENT_FAILURE'
  | 'SENT'
  | 'TEMPORARY_FAILURE';

export type NotificationTemplateKind =
  | 'CUSTOM'
  | 'SYSTEM';

export type RetryNotificationMessagesInput = {
  filter?: UndeliveredNotificationFilter | null | undefined;
  ids?: Array<string> | null | undefined;
};

export type SmtpTransportInput = {
  forceTls?: boolean | null | undefined;
  from?: string | null | undefined;
  hello?: string | null | undefined;
  host?: string | null | undefined;
  password?: string | null | undefined;
  port?: number | null | undefined;
  requireTls?: boolean | null | undefined;
  username?: string | null | undefined;
};

export type UndeliveredNotificationFilter = {
  method?: NotificationDeliveryMethod | null | undefined;
  template?: string | null | undefined;
  user?: string | null | undefined;
};

export type UpdateNotificationSettingsInput = {
  notifierPaused: boolean;
};

export type UpdateNotificationTemplateMethodInput = {
  method?: NotificationDeliveryMethod | null | undefined;
  template: string;
};

export type UpdateNotificationTransportsInput = {
  smtp?: SmtpTransportInput | null | undefined;
  webhook?: WebhookTransportInput | null | undefined;
};

export type WebhookTransportInput = {
  secrets?: Array<string> | null | undefined;
  url?: string | null | undefined;
};

export type NotificationSettingsQueryVariables = Exact<{
  transports: boolean;
}>;


export type NotificationSettingsQuery = { notificationSettings: { notifierPaused: boolean }, notificationMethods: { available: Array<NotificationDeliveryMethod>, configured: Array<NotificationDeliveryMethod>, default: NotificationDeliveryMethod }, notificationTemplates: Array<{ id: string, name: string, group: string, title: string, body: string, method: NotificationDeliveryMethod | null, kind: NotificationTemplateKind, mandatory: boolean, enabledByDefault: boolean, recipients: string }>, notificationTransports?: { smtp: { host: string | null, port: number, from: string | null, hello: string, username: string | null, forceTls: boolean, requireTls: boolean, lockedFields: Array<string>, password: { isSet: boolean } }, webhook: { url: string | null, lockedFields: Array<string>, secret: { isSet: boolean } } } };

export type NotificationTemplateTextQueryVariables = Exact<{
  id: string;
}>;


export type NotificationTemplateTextQuery = { notificationTemplate: { id: string, name: string, title: string, body: string, actions: string, recipients: string, labels: Array<string> } | null };

export type PauseNotifierMutationVariables = Exact<{
  input: UpdateNotificationSettingsInput;
}>;


export type PauseNotifierMutation = { updateNotificationSettings: { changed: boolean } };

export type SetTemplateMethodMutationVariables = Exact<{
  input: UpdateNotificationTemplateMethodInput;
}>;


export type SetTemplateMethodMutation = { updateNotificationTemplateMethod: { changed: boolean } };

export type UpdateTransportsMutationVariables = Exact<{
  input: UpdateNotificationTransportsInput;
}>;


export type UpdateTransportsMutation = { updateNotificationTransports: { webhookSecret: string | null } };

export type SendTestMutationVariables = Exact<{ [key: string]: never; }>;


export type SendTestMutation = { sendTestNotification: { messageIds: Array<string> } };

export type DeliveriesQueryVariables = Exact<{
  filter?: NotificationMessageFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type DeliveriesQuery = { notificationMessages: { totalCount: number, nodes: Array<{ id: string, method: NotificationDeliveryMethod, state: NotificationMessageState, reason: string | null, createdAt: string, finishedAt: string | null, nextAttemptAt: string, attempts: Array<{ number: number, outcome: NotificationAttemptOutcome, detail: string | null, time: string }>, template: { id: string, name: string } | null, user: { id: string, username: string, name: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type RetryMessagesMutationVariables = Exact<{
  input: RetryNotificationMessagesInput;
}>;


export type RetryMessagesMutation = { retryNotificationMessages: { retried: number } };

export type DiscardMessagesMutationVariables = Exact<{
  input: DiscardNotificationMessagesInput;
}>;


export type DiscardMessagesMutation = { discardNotificationMessages: { discarded: number } };

export const NotificationSettings = operation<NotificationSettingsQuery, NotificationSettingsQueryVariables>("query NotificationSettings($transports: Boolean!) { notificationSettings { notifierPaused } notificationMethods { available configured default } notificationTemplates { id name group title body method kind mandatory enabledByDefault recipients } notificationTransports @include(if: $transports) { smtp { host port from hello username forceTls requireTls lockedFields password { isSet } } webhook { url lockedFields secret { isSet } } } }");
export const NotificationTemplateText = operation<NotificationTemplateTextQuery, NotificationTemplateTextQueryVariables>("query NotificationTemplateText($id: UUID!) { notificationTemplate(id: $id) { id name title body actions recipients labels } }");
export const PauseNotifier = operation<PauseNotifierMutation, PauseNotifierMutationVariables>("mutation PauseNotifier($input: UpdateNotificationSettingsInput!) { updateNotificationSettings(input: $input) { changed } }", {"notifierPaused":{"type":"Boolean","isRequired":true}});
export const SetTemplateMethod = operation<SetTemplateMethodMutation, SetTemplateMethodMutationVariables>("mutation SetTemplateMethod($input: UpdateNotificationTemplateMethodInput!) { updateNotificationTemplateMethod(input: $input) { changed } }", {"method":{"type":"NotificationDeliveryMethod","kind":"choice","options":["INBOX","SMTP","WEBHOOK"]},"template":{"type":"UUID","isRequired":true}});
export const UpdateTransports = operation<UpdateTransportsMutation, UpdateTransportsMutationVariables>("mutation UpdateTransports($input: UpdateNotificationTransportsInput!) { updateNotificationTransports(input: $input) { webhookSecret } }", {"smtp":{"type":"SmtpTransportInput","fields":{"forceTls":{"type":"Boolean"},"from":{"type":"String","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"hello":{"type":"String","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"host":{"type":"String","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"password":{"type":"String","kind":"secret","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"},"port":{"type":"Int","limits":{"minimum":1,"maximum":65535},"words":"from 1 to 65535"},"requireTls":{"type":"Boolean"},"username":{"type":"String","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"}}},"webhook":{"type":"WebhookTransportInput","fields":{"secrets":{"type":"String","kind":"secret","limits":{"maxItems":5},"isList":true},"url":{"type":"String","limits":{"minLength":1,"maxLength":1024},"words":"1 to 1024 characters"}}}});
export const SendTest = operation<SendTestMutation, SendTestMutationVariables>("mutation SendTest { sendTestNotification { messageIds } }");
export const Deliveries = operation<DeliveriesQuery, DeliveriesQueryVariables>("query Deliveries($filter: NotificationMessageFilter, $first: Int, $after: String, $last: Int, $before: String) { notificationMessages( filter: $filter first: $first after: $after last: $last before: $before ) { totalCount nodes { id method state reason createdAt finishedAt nextAttemptAt attempts { number outcome detail time } template { id name } user { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const RetryMessages = operation<RetryMessagesMutation, RetryMessagesMutationVariables>("mutation RetryMessages($input: RetryNotificationMessagesInput!) { retryNotificationMessages(input: $input) { retried } }", {"filter":{"type":"UndeliveredNotificationFilter","fields":{"method":{"type":"NotificationDeliveryMethod","kind":"choice","options":["INBOX","SMTP","WEBHOOK"]},"template":{"type":"UUID"},"user":{"type":"String","kind":"reference"}}},"ids":{"type":"UUID","limits":{"maxItems":10000},"isList":true}});
export const DiscardMessages = operation<DiscardMessagesMutation, DiscardMessagesMutationVariables>("mutation DiscardMessages($input: DiscardNotificationMessagesInput!) { discardNotificationMessages(input: $input) { discarded } }", {"filter":{"type":"UndeliveredNotificationFilter","fields":{"method":{"type":"NotificationDeliveryMethod","kind":"choice","options":["INBOX","SMTP","WEBHOOK"]},"template":{"type":"UUID"},"user":{"type":"String","kind":"reference"}}},"ids":{"type":"UUID","limits":{"maxItems":10000},"isList":true}});