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


export type PreferencesQuery = { me: { id: string, username: string, name: string, avatarUrl: string }, quietHours: { schedule: string, time: string, timezone: string, next: string, userCanSet: boolean, userSet: boolean } | null, notificationTemplates: Array<{ id: string, name: string, group: string, mandatory: boolean, enabledByDefault: boolean, kind: NotificationTemplateKind }>, notificationPreferences: Array<{ templateId: string, disabled: boolean, disabledMethods: Array<NotificationDeliveryMethod> }>, notificationMethods: { available: Array<NotificationDeliveryMethod> } };

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

export const Preferences = operation<PreferencesQuery, PreferencesQueryVariables>("query Preferences { me { id username name avatarUrl } quietHours { schedule time timezone next userCanSet userSet } notificationTemplates { id name group mandatory enabledByDefault kind } notificationPreferences { templateId disabled disabledMethods } notificationMethods { available } }");
export const UpdateProfile = operation<UpdateProfileMutation, UpdateProfileMutationVariables>("mutation UpdateProfile($input: UpdateProfileInput!) { updateProfile(input: $input) { user { id } } }", {"avatarUrl":{"type":"URL","hint":"New URL of the avatar; empty for none."},"name":{"type":"String","hint":"New real name, at most 128 characters."},"username":{"type":"String","hint":"New username."}});
export const SetQuietHours = operation<SetQuietHoursMutation, SetQuietHoursMutationVariables>("mutation SetQuietHours($input: SetQuietHoursInput!) { setQuietHours(input: $input) { quietHours { schedule } } }", {"schedule":{"type":"String","hint":"A cron expression with minute and hour, `30 2 * * *`, after `CRON_TZ=<IANA zone>` if not in UTC. Null or empty restores the default; it must be given."},"user":{"type":"String","hint":"The user: ID, username, or `me`.","isRequired":true}});
export const UpdatePreferences = operation<UpdatePreferencesMutation, UpdatePreferencesMutationVariables>("mutation UpdatePreferences($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { preferences { templateId } } }", {"choices":{"type":"NotificationChoiceInput","hint":"The decisions, at most 100. Templates that are not named stay as they are.","isRequired":true,"isList":true},"method":{"type":"NotificationDeliveryMethod","hint":"The method they apply to. Default: all methods.","options":["INBOX","SMTP","WEBHOOK"]},"user":{"type":"String","hint":"The user: ID, username, or `me`.","isRequired":true}});