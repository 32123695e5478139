import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { List } from "../ui/list";
import { useOptimistic } from "../ui/optimistic";
import { Facts, Heading, Loading, Panel, Time } from "../ui/parts";
import { topicOf, wordsOf } from "../ui/text";
import { Preferences, type PreferencesQuery, SetQuietHours, UpdatePreferences, UpdateProfile } from "./preferences.gql";

/** A daily time and a time zone, as the API has them. */
const scheduleOf = ({ time, timezone }: { time?: string; timezone?: string }) => {
  const [hour = "", minute = ""] = (time ?? "").split(":");
  return `CRON_TZ=${timezone} ${Number(minute)} ${Number(hour)} * * *`;
};

type Method = PreferencesQuery["notificationMethods"]["configured"][number];

const order: readonly Method[] = ["INBOX", "SMTP", "WEBHOOK"];

export function PreferencesView() {
  const { data, error, refresh } = useData(Preferences, {});
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { me, quietHours: hours, notificationMethods } = data;
  const preferences = new Map(data.notificationPreferences.map((each) => [each.templateId, each]));
  // A method that cannot deliver is no choice.
  const methods = order.filter((method) => notificationMethods.configured.includes(method));
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
          fields={["name", "username", "avatarUrl"]}
          values={me}
          submit="Save"
        />
      </Heading>
      {hours && <QuietHours hours={hours} mayChange />}
      <Panel title="Notifications">
        <p class="faint">
          Within ten minutes, mails of the same kind arrive as one. You are not told of changes of accounts that you
          make yourself.
        </p>
        <List
          name="Notifications"
          rows={data.notificationTemplates}
          empty="There are no notifications."
          columns={[
            { title: "Notification", show: ({ name }) => name },
            { title: "About", show: ({ group }) => topicOf(group) },
            ...methods.map((method) => ({
              title: method === "INBOX" ? "Inbox" : wordsOf(method),
              show: (template: PreferencesQuery["notificationTemplates"][number]) => (
                <Choice template={template} method={method} isOn={isOn(template, method)} />
              ),
            })),
          ]}
        />
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
        {name}, {wordsOf(method)}:{" "}
      </span>
      {mandatory ? "Always" : isOn ? "On" : "Off"}
    </label>
  );
}
