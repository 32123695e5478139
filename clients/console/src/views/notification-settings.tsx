import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import type { FieldSpec } from "../ui/form";
import { List } from "../ui/list";
import { say } from "../ui/notices";
import { Facts, Heading, Labels, Loading, Panel, Status } from "../ui/parts";
import { topicOf, wordsOf } from "../ui/text";
import {
  type NotificationDeliveryMethod,
  NotificationSettings,
  PauseNotifier,
  SendTest,
  SetTemplateMethod,
  UpdateTransports,
} from "./notification-settings.gql";

/** Settings without a value have their default. */
const orDefault = (text: string) => text || null;

const smtpFields: readonly FieldSpec[] = [
  {
    name: "host",
    label: "Server",
    hint: "Without one, no mail is sent.",
    placeholder: "smtp.example.com",
    read: orDefault,
  },
  { name: "port", hint: "Usually 587, or 465 with TLS from the start." },
  {
    name: "from",
    label: "Sender",
    hint: "The address that mails come from.",
    placeholder: "steward@example.com",
    read: orDefault,
  },
  { name: "hello", label: "Name in HELO", hint: "How Steward introduces itself to the server.", read: orDefault },
  { name: "username", hint: "Without one, it does not sign in at the server.", read: orDefault },
  { name: "password", hint: "Empty keeps the present one." },
  { name: "forceTls", label: "TLS from the start" },
  { name: "requireTls", label: "Require STARTTLS" },
];

export function NotificationSettingsView() {
  const may = useAllowed({
    update: { may: "deployment_config:update" },
    methods: { may: "notification_template:update" },
    test: { may: "notification_message:create" },
  });
  const { data, error, refresh } = useData(
    NotificationSettings,
    // Only those who may change the transports may read them.
    may.isKnown ? { transports: may("update") } : undefined,
  );
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { notifierPaused } = data.notificationSettings;
  const { smtp, webhook } = data.notificationTransports ?? {};
  const isFree = (locked: readonly string[]) => (field: FieldSpec) => !locked.includes(field.name);
  return (
    <>
      <Heading title="Notifications">
        {may("test") && (
          <Action
            label="Send a test"
            run={SendTest}
            given={{}}
            done={({ sendTestNotification: { messageIds } }) =>
              say(messageIds.length > 0 ? "The test is under way to you." : "You have switched it off.")
            }
          />
        )}
        {may("update") && (
          <Action
            label={notifierPaused ? "Resume" : "Pause"}
            run={PauseNotifier}
            given={{ notifierPaused: !notifierPaused }}
            said={notifierPaused ? "Notifications are sent again." : "No notifications are sent."}
            undo={() => perform(PauseNotifier, { input: { notifierPaused } })}
          />
        )}
      </Heading>
      {notifierPaused && <p class="banner">Notifications are paused: none are sent.</p>}
      <div class="columns">
        {smtp && (
          <Panel
            title="Email"
            actions={
              may("update") && (
                <Action
                  label="Change email"
                  run={UpdateTransports}
                  given={{}}
                  part="smtp"
                  fields={smtpFields.filter(isFree(smtp.lockedFields))}
                  values={{ ...smtp, password: "" }}
                  prepare={(values) => ({ smtp: values })}
                  submit="Save"
                  said="The settings of email are saved."
                />
              )
            }
          >
            <Facts
              facts={[
                ["Server", smtp.host ? `${smtp.host}:${smtp.port}` : "Not set up"],
                ["Sender", smtp.from],
                ["User", smtp.username],
                ["Password", smtp.password.isSet ? "Set" : "None"],
                ["TLS", smtp.forceTls ? "From the start" : smtp.requireTls ? "Required" : "If offered"],
                ...(smtp.lockedFields.length > 0
                  ? ([["Set by the environment", <Labels key="locked" of={smtp.lockedFields} />]] as const)
                  : []),
              ]}
            />
          </Panel>
        )}
        {webhook && (
          <Panel
            title="Webhook"
            actions={
              may("update") &&
              !webhook.lockedFields.includes("url") && (
                <Action
                  label="Change webhook"
                  run={UpdateTransports}
                  given={{}}
                  part="webhook"
                  fields={[{ name: "url", label: "URL", kind: "url", hint: "Empty switches it off.", read: orDefault }]}
                  values={webhook}
                  prepare={(values) => ({ webhook: { url: webhook.url, ...values } })}
                  submit="Save"
                  reveal={({ updateNotificationTransports: { webhookSecret } }) =>
                    webhookSecret ? ["Secret of the webhook", webhookSecret] : undefined
                  }
                />
              )
            }
          >
            <Facts
              facts={[
                ["URL", webhook.url ?? "Not set up"],
                ["Secret", webhook.secret.isSet ? "Set" : "None"],
              ]}
            />
          </Panel>
        )}
      </div>
      <Panel title="Templates">
        <List
          name="Templates"
          rows={data.notificationTemplates}
          empty="There are no templates."
          columns={[
            {
              title: "Notification",
              show: (template) => (
                <details>
                  <summary>{template.name}</summary>
                  <p>{template.title}</p>
                  <pre class="text">{template.body}</pre>
                </details>
              ),
            },
            { title: "About", show: ({ group }) => topicOf(group) },
            { title: "Sent to", show: ({ recipients }) => recipients },
            { title: "By", show: ({ method }) => (method ? wordsOf(method) : <span class="faint">Default</span>) },
            {
              title: "Users get it",
              show: ({ enabledByDefault, mandatory }) =>
                mandatory ? (
                  <Status name="ACTIVE" label="Always" />
                ) : (
                  <Status name={enabledByDefault ? "ACTIVE" : "OFF"} label={enabledByDefault ? "On" : "Off"} />
                ),
            },
            {
              title: "Actions",
              isAction: true,
              show: (template) =>
                may("methods") && (
                  <Action
                    label="Deliver by"
                    on={template.name}
                    run={SetTemplateMethod}
                    given={{ template: template.id }}
                    fields={[
                      {
                        name: "method",
                        hint: "Without one, the default of the deployment.",
                        options: data.notificationMethods.available.map((each) => [each, wordsOf(each)]),
                      },
                    ]}
                    values={template}
                    prepare={({ method = null }) => ({ method: method as NotificationDeliveryMethod | null })}
                    submit="Save"
                  />
                ),
            },
          ]}
        />
      </Panel>
    </>
  );
}
