// Generated from preferences.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type NotificationChoiceInput = {
  disabled: boolean;
  template: string;
};

export type NotificationDeliveryMethod =
  | 'INBOX'
  | 'SMTP'
  | 'WEBHOOK';

export type NotificationTemplateKind =
  | 'CUSTOM'
  | 'SYSTEM';

export type SetQuietHoursInput = {
  schedule?: string | null | undefined;
  user?: string;
};

export type UpdateNotificationPreferencesInput = {
  choices: Array<NotificationChoiceInput>;
  method?: NotificationDeliveryMethod | null | undefined;
  user?: string;
};

export type UpdateProfileInput = {
  avatarUrl?: string | null | undefined;
  name?: string | null | undefined;
  username?: string | null | undefined;
};

export type PreferencesQueryVariables = Exact<{ [key: string]: never; }>;


export type PreferencesQuery = { me: { id: string, username: string, name: string, avatarUrl: string }, quietHours: { schedule: string, time: string, timezone: string, next: string, userCanSet: boolean, userSet: boolean } | null, notificationTemplates: Array<{ id: string, name: string, group: string, mandatory: boolean, enabledByDefault: boolean, kind: NotificationTemplateKind }>, notificationPreferences: Array<{ templateId: string, disabled: boolean, disabledMethods: Array<NotificationDeliveryMethod> }>, notificationMethods: { configured: Array<NotificationDeliveryMethod> } };

export type UpdateProfileMutationVariables = Exact<{
  input: UpdateProfileInput;
}>;


export type UpdateProfileMutation = { updateProfile: { user: { id: string } } };

export type SetQuietHoursMutationVariables = Exact<{
  input: SetQuietHoursInput;
}>;


export type SetQuietHoursMutation = { setQuietHours: { quietHours: { schedule: string } } };

export type UpdatePreferencesMutationVariables = Exact<{
  input: UpdateNotificationPreferencesInput;
}>;


export type UpdatePreferencesMutation = { updateNotificationPreferences: { preferences: Array<{ templateId: string }> } };

export const Preferences = operation<PreferencesQuery, PreferencesQueryVariables>("query Preferences { me { id username name avatarUrl } quietHours { schedule time timezone next userCanSet userSet } notificationTemplates { id name group mandatory enabledByDefault kind } notificationPreferences { templateId disabled disabledMethods } notificationMethods { configured } }");
export const UpdateProfile = operation<UpdateProfileMutation, UpdateProfileMutationVariables>("mutation UpdateProfile($input: UpdateProfileInput!) { updateProfile(input: $input) { user { id } } }", {"avatarUrl":{"type":"URL","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"maxLength":128},"words":"at most 128 characters"},"username":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"}});
export const SetQuietHours = operation<SetQuietHoursMutation, SetQuietHoursMutationVariables>("mutation SetQuietHours($input: SetQuietHoursInput!) { setQuietHours(input: $input) { quietHours { schedule } } }", {"schedule":{"type":"String","limits":{"pattern":"^\\s*((CRON_TZ=\\S+\\s+)?\\d{1,2}\\s+\\d{1,2}(\\s+\\S+){3}\\s*)?$"}},"user":{"type":"String","kind":"reference","isRequired":true}});
export const UpdatePreferences = operation<UpdatePreferencesMutation, UpdatePreferencesMutationVariables>("mutation UpdatePreferences($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { preferences { templateId } } }", {"choices":{"type":"NotificationChoiceInput","limits":{"maxItems":100},"isRequired":true,"isList":true,"fields":{"disabled":{"type":"Boolean","isRequired":true},"template":{"type":"String","kind":"reference","isRequired":true}}},"method":{"type":"NotificationDeliveryMethod","kind":"choice","options":["INBOX","SMTP","WEBHOOK"]},"user":{"type":"String","kind":"reference","isRequired":true}});