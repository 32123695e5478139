import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Choice, Filters, List } from "../ui/list";
import { say } from "../ui/notices";
import { Heading, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { countOf, wordsOf } from "../ui/text";
import {
  Deliveries,
  DiscardMessages,
  type NotificationDeliveryMethod,
  type NotificationMessageState,
  RetryMessages,
} from "./notification-settings.gql";

const states: readonly NotificationMessageState[] = [
  "PENDING",
  "LEASED",
  "SENT",
  "TEMPORARY_FAILURE",
  "PERMANENT_FAILURE",
  "INHIBITED",
  "DISCARDED",
];
const methods: readonly NotificationDeliveryMethod[] = ["INBOX", "SMTP", "WEBHOOK"];
const options = (names: readonly string[]) => names.map((name) => [name, wordsOf(name)] as const);

export function DeliveriesView() {
  const place = usePlace();
  const filter = {
    state: place.filter<NotificationMessageState>("state"),
    method: place.filter<NotificationDeliveryMethod>("method"),
  };
  const deliveries = useData(Deliveries, { filter, ...place.cursors });
  const may = useAllowed({ update: { may: "notification_message:update" } });
  const rows = deliveries.data?.notificationMessages;
  const hasFailed = rows?.nodes.some(({ state }) => state === "PERMANENT_FAILURE");
  const failed = filter.method ? { method: filter.method } : {};
  return (
    <>
      <Heading title="Deliveries" note="Every notification on its way to a user.">
        {may("update") && hasFailed && (
          <>
            <Action
              label="Retry all that failed"
              run={RetryMessages}
              given={{ filter: failed }}
              done={({ retryNotificationMessages: { retried } }) =>
                say(`${countOf(retried, "message")} under way again.`)
              }
            />
            <Action
              label="Discard all that failed"
              look="danger"
              confirm="Their users never get them. This cannot be undone."
              run={DiscardMessages}
              given={{ filter: failed }}
              done={({ discardNotificationMessages: { discarded } }) =>
                say(`${countOf(discarded, "message")} discarded.`)
              }
            />
          </>
        )}
      </Heading>
      <Filters place={place}>
        <Choice place={place} label="State" name="state" options={options(states)} />
        <Choice place={place} label="Method" name="method" options={options(methods)} />
      </Filters>
      <List
        name="Deliveries"
        rows={rows}
        from={deliveries}
        empty="No delivery matches."
        place={place}
        columns={[
          { title: "Notification", show: ({ template }) => template?.name ?? "Deleted template" },
          { title: "To", show: ({ user }) => <PersonLink user={user} /> },
          { title: "By", show: ({ method }) => wordsOf(method) },
          {
            title: "State",
            show: ({ state, reason, attempts }) => (
              <>
                <Status name={state} />
                {reason && <span class="faint long block">{reason}</span>}
                {attempts.length > 0 && (
                  <details>
                    <summary>{countOf(attempts.length, "attempt")}</summary>
                    <ul>
                      {attempts.map(({ number, outcome, detail, time }) => (
                        <li key={number} class="long">
                          {wordsOf(outcome)} <Time at={time} /> {detail}
                        </li>
                      ))}
                    </ul>
                  </details>
                )}
              </>
            ),
          },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (message) =>
              may("update") &&
              message.state === "PERMANENT_FAILURE" && (
                <>
                  <Action
                    label="Retry"
                    on={message.template?.name}
                    run={RetryMessages}
                    given={{ ids: [message.id] }}
                    said="Under way again."
                  />
                  <Action
                    label="Discard"
                    on={message.template?.name}
                    look="danger"
                    confirm="The user never gets it."
                    run={DiscardMessages}
                    given={{ ids: [message.id] }}
                  />
                </>
              ),
          },
        ]}
      />
    </>
  );
}
