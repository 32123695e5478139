import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { useData, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import type { FieldSpec, Options } from "../ui/form";
import { Choice, Filters, List } from "../ui/list";
import { say } from "../ui/notices";
import { Facts, Heading, Labels, Loading, Panel, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { countOf, titleOf, wordsOf } from "../ui/text";
import {
  CreateEventEndpoint,
  CreateEventEndpointSecret,
  DeleteEventEndpoint,
  DeleteEventEndpointSecret,
  EventDeliveries,
  type EventDeliveryState,
  EventEndpoint,
  EventEndpoints,
  type EventEndpointState,
  EventTypes,
  RedeliverEvent,
  RedeliverEvents,
  TestEventEndpoint,
  UpdateEventEndpoint,
} from "./event-endpoints.gql";
import { useOrganizationOptions } from "./organization-choice";

const states: readonly EventEndpointState[] = ["ACTIVE", "PAUSED", "DISABLED", "UNATTENDED"];
const deliveryStates: readonly EventDeliveryState[] = ["PENDING", "DELIVERED", "FAILED"];
const options = (names: readonly string[]) => names.map((name) => [name, wordsOf(name)] as const);

/** The resources whose events can be chosen together, and the single types that an endpoint has already. */
function useTypeOptions(chosen: readonly string[] = []): Options {
  const { data } = useData(EventTypes, {});
  const resources = [...new Set((data?.eventTypes ?? []).map(({ name }) => name.split(".")[0]!))];
  return [
    ...resources.map((name) => [`${name}.*`, wordsOf(name)] as const),
    ...chosen.filter((name) => !name.endsWith(".*")).map((name) => [name, typeInWords(name)] as const),
  ];
}

const typeInWords = (name: string) => {
  const [resource = "", action = ""] = name.split(".");
  return action === "*" ? wordsOf(resource) : `${wordsOf(resource)}: ${action.replaceAll("_", " ")}`;
};

const fieldsWith = (types: Options): readonly FieldSpec[] => [
  { name: "name", hint: "As administrators know it, such as Chat.", placeholder: "Chat" },
  {
    name: "url",
    label: "Address",
    hint: "Events are posted there. It must be an https address.",
    placeholder: "https://",
  },
  {
    name: "eventTypes",
    label: "Events of",
    kind: "choices",
    options: types,
    hint: "If you choose none, it receives all.",
  },
  {
    name: "isThin",
    label: "Only IDs",
    hint: "Events then have no names and no changes: the receiver reads them by the API.",
  },
];

/** The state of an endpoint: active ones that fail are shown as such. */
const EndpointStatus = ({ of }: { of: { state: EventEndpointState; failingSince: string | null | undefined } }) =>
  of.state === "ACTIVE" && of.failingSince ? (
    <Status name="FAILED" label="Failing" />
  ) : (
    <Status
      name={of.state === "DISABLED" || of.state === "UNATTENDED" ? "ERROR" : of.state}
      label={wordsOf(of.state)}
    />
  );

export function EventEndpointsView() {
  const place = usePlace();
  const { route } = useLocation();
  const endpoints = useData(EventEndpoints, { state: place.filter<EventEndpointState>("state"), ...place.cursors });
  const organizations = useOrganizationOptions();
  const types = useTypeOptions();
  const may = useAllowed({ create: { may: "event_endpoint:create", anyOrg: true } });
  return (
    <>
      <Heading title="Event endpoints" note="Programs elsewhere that are told what happens in an organization.">
        {may("create") && organizations.length > 0 && (
          <Action
            label="Create an endpoint"
            look="primary"
            run={CreateEventEndpoint}
            given={{}}
            fields={[
              ...(organizations.length > 1
                ? [{ name: "organization", options: organizations, hint: "It receives the events of this one." }]
                : []),
              ...fieldsWith(types),
            ]}
            prepare={(values) => ({ organization: organizations[0]![0], ...values })}
            submit="Create"
            reveal={({ createEventEndpoint: { eventEndpoint, secret } }) => [`Secret of ${eventEndpoint.name}`, secret]}
          />
        )}
      </Heading>
      <Filters place={place}>
        <Choice place={place} label="State" name="state" options={options(states)} />
      </Filters>
      <List
        name="Event endpoints"
        rows={endpoints.data?.eventEndpoints}
        from={endpoints}
        empty="No endpoint. Create one to tell another program what happens here."
        place={place}
        columns={[
          { title: "Name", show: ({ id, name }) => <a href={`/event-endpoints/${id}`}>{name}</a> },
          { title: "Organization", show: ({ organization }) => titleOf(organization) },
          { title: "State", show: (endpoint) => <EndpointStatus of={endpoint} /> },
          {
            title: "Events of",
            show: ({ eventTypes }) => (eventTypes.length > 0 ? <Labels of={eventTypes.map(typeInWords)} /> : "All"),
          },
          { title: "Waiting", isNumber: true, show: ({ queuedCount }) => queuedCount },
          { title: "Last delivered", show: ({ deliveredAt }) => <Time at={deliveredAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id, name }) => (
              <button type="button" aria-label={`Open ${name}`} onClick={() => route(`/event-endpoints/${id}`)}>
                Open
              </button>
            ),
          },
        ]}
      />
    </>
  );
}

export function EventEndpointView({ id }: { id: string }) {
  const { route } = useLocation();
  const loaded = useData(EventEndpoint, { id });
  usePolling(loaded, 5_000);
  const endpoint = loaded.data?.eventEndpoint;
  const types = useTypeOptions(endpoint?.eventTypes);
  const organizationId = endpoint?.organization.id;
  const may = useAllowed<"update" | "delete">(
    organizationId
      ? {
          update: { may: "event_endpoint:update", organizationId },
          delete: { may: "event_endpoint:delete", organizationId },
        }
      : undefined,
  );
  if (!endpoint) return loaded.error ? <Failure error={loaded.error} retry={loaded.refresh} /> : <Loading />;
  const { name, state, secrets, eventTypes } = endpoint;
  const isActive = state === "ACTIVE";
  return (
    <>
      <Heading title={name} note={titleOf(endpoint.organization)} up={["/event-endpoints", "Event endpoints"]}>
        {may("update") && (
          <>
            {isActive && (
              <Action label="Send a test" run={TestEventEndpoint} given={{ id }} said="The test is on its way." />
            )}
            {isActive ? (
              <Action label="Pause" run={UpdateEventEndpoint} given={{ id, paused: true }} said="Its events wait." />
            ) : (
              <Action
                label="Resume"
                look="primary"
                run={UpdateEventEndpoint}
                given={{ id, paused: false }}
                said="What waits is delivered. It has your rights now."
              />
            )}
            <Action
              label="Edit"
              run={UpdateEventEndpoint}
              given={{ id }}
              note="From then on, it has your rights: it stops when you may not read the audit log any more."
              fields={fieldsWith(types)}
              values={endpoint}
              submit="Save"
            />
          </>
        )}
        {may("delete") && (
          <Action
            label="Delete"
            look="danger"
            confirm="Its events are not delivered any more, and its log is lost. This cannot be undone."
            run={DeleteEventEndpoint}
            given={{ id }}
            done={() => route("/event-endpoints")}
          />
        )}
      </Heading>
      <Facts
        facts={[
          ["State", <EndpointStatus key="state" of={endpoint} />],
          ["Address", endpoint.url],
          [
            "Events of",
            eventTypes.length > 0 ? <Labels key="types" of={eventTypes.map(typeInWords)} /> : "All that belongs to it",
          ],
          ["Content", endpoint.isThin ? "Only IDs" : "Names and changes"],
          ["Waiting", countOf(endpoint.queuedCount, "event")],
          ["Last delivered", <Time key="last" at={endpoint.deliveredAt} />],
          [
            "Acts with the rights of",
            endpoint.maker ? <PersonLink key="maker" user={endpoint.maker} /> : "a deleted user",
          ],
          ...(endpoint.failingSince
            ? ([["Failing since", <Time key="since" at={endpoint.failingSince} />]] as const)
            : []),
          ...(endpoint.lastFailure ? ([["Last failure", endpoint.lastFailure]] as const) : []),
        ]}
      />
      <Panel
        title="Secrets"
        actions={
          may("update") && (
            <Action
              label="Add a secret"
              run={CreateEventEndpointSecret}
              given={{ endpoint: id }}
              confirm="All secrets sign each event. Give the new one to the receiver, and then delete the former one."
              reveal={({ createEventEndpointSecret: { text } }) => [`Secret of ${name}`, text]}
            />
          )
        }
      >
        <List
          name="Secrets"
          rows={secrets}
          empty="No secret."
          columns={[
            { title: "Secret", show: ({ suffix }) => <code>…{suffix}</code> },
            { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
            {
              title: "Actions",
              isAction: true,
              show: (secret) =>
                may("update") &&
                secrets.length > 1 && (
                  <Action
                    label="Delete"
                    on={`…${secret.suffix}`}
                    look="danger"
                    confirm="A receiver that has no other secret rejects what follows."
                    run={DeleteEventEndpointSecret}
                    given={{ endpoint: id, id: secret.id }}
                  />
                ),
            },
          ]}
        />
      </Panel>
      <DeliveryLog id={id} mayUpdate={may("update") && isActive} />
    </>
  );
}

function DeliveryLog({ id, mayUpdate }: { id: string; mayUpdate: boolean }) {
  const place = usePlace();
  const loaded = useData(EventDeliveries, { id, state: place.filter<EventDeliveryState>("state"), ...place.cursors });
  usePolling(loaded, 3_000);
  return (
    <Panel
      title="Deliveries"
      actions={
        mayUpdate && (
          <Action
            label="Send a period again"
            run={RedeliverEvents}
            given={{ id }}
            fields={[
              { name: "after", label: "From", hint: "When the first of the events was recorded." },
              { name: "before", label: "Until", hint: "If you leave it empty, until now." },
              { name: "onlyUndelivered", label: "Only events that did not arrive" },
            ]}
            defaults={{ onlyUndelivered: true }}
            submit="Send again"
            done={({ redeliverEvents: { count } }) => say(`${countOf(count, "event")} on the way again.`)}
          />
        )
      }
    >
      <Filters place={place}>
        <Choice place={place} label="State" name="state" options={options(deliveryStates)} />
      </Filters>
      <List
        name="Deliveries"
        rows={loaded.data?.eventEndpoint?.deliveries}
        from={loaded}
        empty="No event yet."
        place={place}
        columns={[
          {
            title: "Event",
            show: ({ type, eventId }) => (
              <>
                {typeInWords(type)} <span class="faint block">{eventId}</span>
              </>
            ),
          },
          { title: "Sequence", isNumber: true, show: ({ sequence }) => sequence },
          { title: "Queued", show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: "State",
            show: ({ state, attempts, log, nextAttemptAt }) => (
              <>
                <Status name={state} />
                {state === "PENDING" && nextAttemptAt && attempts > 0 && (
                  <span class="faint block">
                    Tried again <Time at={nextAttemptAt} />
                  </span>
                )}
                {log.length > 0 && (
                  <details>
                    <summary>{countOf(attempts, "attempt")}</summary>
                    <ul>
                      {log.map(({ time, duration, status, excerpt, failure }) => (
                        <li key={time} class="long">
                          <Time at={time} /> {status ?? "No response"} in {duration} ms. {failure}{" "}
                          {excerpt && <code>{excerpt}</code>}
                        </li>
                      ))}
                    </ul>
                  </details>
                )}
              </>
            ),
          },
          {
            title: "Actions",
            isAction: true,
            show: (delivery) =>
              mayUpdate && (
                <Action
                  label="Send again"
                  on={typeInWords(delivery.type)}
                  run={RedeliverEvent}
                  given={{ delivery: delivery.id }}
                  said="It is on its way again, with the same ID."
                />
              ),
          },
        ]}
      />
    </Panel>
  );
}
