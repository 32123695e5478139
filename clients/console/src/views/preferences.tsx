import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { useOptimistic } from "../ui/optimistic";
import { Facts, Heading, Loading, Panel, Time } from "../ui/parts";
import { topicOf, wordsOf } from "../ui/text";
import { avatarField, profileFields } from "./user-form";
import { Preferences, type PreferencesQuery, SetQuietHours, UpdatePreferences, UpdateProfile } from "./preferences.gql";

/** A daily time and a time zone, as the API has them. */
const scheduleOf = ({ time, timezone }: { time?: string; timezone?: string }) => {
  const [hour = "", minute = ""] = (time ?? "").split(":");
  return `CRON_TZ=${timezone} ${Number(minute)} ${Number(hour)} * * *`;
};

type Method = PreferencesQuery["notificationMethods"]["configured"][number];

const order: readonly Method[] = ["INBOX", "SMTP", "WEBHOOK"];

const methodOf = (method: Method): string => (method === "INBOX" ? "Inbox" : wordsOf(method));

export function PreferencesView() {
  const { data, error, refresh } = useData(Preferences, {});
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { me, quietHours: hours, notificationMethods } = data;
  const preferences = new Map(data.notificationPreferences.map((each) => [each.templateId, each]));
  // A method that cannot deliver is no choice.
  const methods = order.filter((method) => notificationMethods.configured.includes(method));
  const topics = [...new Set(data.notificationTemplates.map(({ group }) => group))].map(
    (group) => [topicOf(group), data.notificationTemplates.filter((each) => each.group === group)] as const,
  );
  const isOn = ({ id, enabledByDefault }: { id: string; enabledByDefault: boolean }, method: Method) => {
    const own = preferences.get(id);
    return own ? !own.disabledMethods.includes(method) : enabledByDefault;
  };
  return (
    <>
      <Heading title="Preferences">
        <a class="button" href="/account/password">
          Change password
        </a>
        <Action
          label="Edit profile"
          run={UpdateProfile}
          given={{}}
          fields={[...profileFields, avatarField]}
          values={me}
          submit="Save"
        />
      </Heading>
      {hours && <QuietHours hours={hours} mayChange />}
      <Panel title="Notifications">
        <p class="faint">
          Within ten minutes, mails of the same kind arrive as one. You are not told of changes of accounts that you
          make yourself. What is always sent cannot be switched off.
        </p>
        <table class="switches" aria-label="Notifications">
          <thead>
            <tr>
              <th>Notification</th>
              {methods.map((method) => (
                <th key={method}>{methodOf(method)}</th>
              ))}
            </tr>
          </thead>
          {topics.map(([topic, templates]) => (
            <tbody key={topic}>
              <tr>
                <th scope="rowgroup" colSpan={methods.length + 1}>
                  {topic}
                </th>
              </tr>
              {templates.map((template) => (
                <tr key={template.id}>
                  <td>{template.name}</td>
                  {methods.map((method) => (
                    <td key={method}>
                      <Choice template={template} method={method} isOn={isOn(template, method)} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      </Panel>
    </>
  );
}

interface QuietHoursProps {
  /** The ID of the user, if it is another one than the caller. */
  user?: string;
  hours: NonNullable<PreferencesQuery["quietHours"]>;
  mayChange: boolean;
}

/** The quiet hours of a user. */
export function QuietHours({ user, hours, mayChange }: QuietHoursProps) {
  const of = user ? { user } : {};
  return (
    <Panel
      title="Quiet hours"
      actions={
        mayChange &&
        hours.userCanSet && (
          <>
            <Action
              label="Change"
              title="Quiet hours"
              run={SetQuietHours}
              given={of}
              fields={[
                {
                  name: "time",
                  label: "Time",
                  hint: "When workspaces may be stopped, such as 2:30.",
                  isRequired: true,
                },
                {
                  name: "timezone",
                  label: "Time zone",
                  options: Intl.supportedValuesOf("timeZone")
                    .concat("UTC")
                    .map((zone) => [zone, zone] as const),
                  isRequired: true,
                },
              ]}
              values={hours}
              prepare={(values) => ({ schedule: scheduleOf({ ...hours, ...values }) })}
              submit="Save"
            />
            {hours.userSet && <Action label="Use the default" run={SetQuietHours} given={{ ...of, schedule: "" }} />}
          </>
        )
      }
    >
      <Facts
        facts={[
          ["Begin every day at", `${hours.time} (${hours.timezone})`],
          ["Next", <Time key="next" at={hours.next} />],
          ["Set by", hours.userSet ? (user ? "The user" : "You") : "The deployment"],
        ]}
      />
    </Panel>
  );
}

interface ChoiceProps {
  template: { id: string; name: string; mandatory: boolean };
  method: Method;
  isOn: boolean;
}

/** Switches a notification by a method on and off. */
function Choice({ template: { id, name, mandatory }, method, isOn: isStored }: ChoiceProps) {
  const [isOn, change] = useOptimistic(isStored);
  return (
    <label class="toggle">
      <input
        type="checkbox"
        checked={mandatory || isOn}
        disabled={mandatory}
        onChange={({ currentTarget: { checked } }) =>
          change(checked, () =>
            perform(UpdatePreferences, { input: { choices: [{ template: id, disabled: !checked }], method } }),
          )
        }
      />
      <span class="hidden">
        {name}, {wordsOf(method)}: {mandatory ? "Always" : isOn ? "On" : "Off"}
      </span>
    </label>
  );
}
