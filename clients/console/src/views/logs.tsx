import { useEffect, useState } from "preact/hooks";
import { ask } from "../api/client";
import { useData } from "../api/hooks";
import { Choice, Day, Filters, List, Search } from "../ui/list";
import { attempt, say } from "../ui/notices";
import { Heading, Label, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { wordsOf } from "../ui/text";
import { entriesOf, exportAs, type Format, type Load } from "./export";
import { type AuditAction, AuditLog, ConnectionLog } from "./logs.gql";
import { useOrganizationOptions } from "./organization-choice";

const actions: readonly AuditAction[] = [
  "CREATE",
  "UPDATE",
  "DELETE",
  "START",
  "STOP",
  "LOGIN",
  "LOGIN_FAILED",
  "LOGOUT",
  "AUTHORIZE",
  "DENY",
  "REVOKE",
  "DELIVER",
];

const refusals = new Set<AuditAction>(["LOGIN_FAILED", "DENY"]);

/** Types of resources that people look for. */
const resources = [
  "user",
  "group",
  "organization",
  "organization_member",
  "template",
  "template_version",
  "workspace",
  "workspace_build",
  "task",
  "api_key",
  "oauth2_app",
  "license",
  "provisioner_key",
  "scim_key",
];

const periods = [
  ["1", "Last day"],
  ["7", "Last week"],
  ["30", "Last month"],
] as const;

/** The time so many days ago, the same for all of an hour: a query of a new time would load again and again. */
const daysAgo = (days: string) => {
  const hour = 3_600_000;
  return days ? new Date(Math.floor(Date.now() / hour) * hour - Number(days) * 24 * hour).toISOString() : null;
};

/** The beginning of a day such as `2026-01-31` where the user is, or of a later one, as a time of the API. */
function dayFrom(day: string, later = 0): number | null {
  const [year, month, date] = /^\d{4}-\d\d-\d\d$/.test(day) ? day.split("-").map(Number) : [];
  const time = year && month && date ? new Date(year, month - 1, date + later).getTime() : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** The last millisecond of a day. */
const lastOf = (day: string): number | null => {
  const next = dayFrom(day, 1);
  return next === null ? null : next - 1;
};

const timeOf = (milliseconds: number | null) => (milliseconds === null ? null : new Date(milliseconds).toISOString());

const formats: ReadonlyArray<readonly [Format, string]> = [
  ["csv", "Export CSV"],
  ["jsonl", "Export JSON lines"],
];

/** Buttons that save what a log shows, one file at a time. */
function Exports({ name, load }: { name: string; load: Load }) {
  const [running, setRunning] = useState<{ format: Format; count: number; stop: AbortController }>();
  const { stop } = running ?? {};
  // Those who leave the page could not cancel it any more.
  useEffect(() => () => stop?.abort(), [stop]);
  const save = async (format: Format) => {
    const mine = new AbortController();
    setRunning({ format, count: 0, stop: mine });
    const onCount = (count: number) => setRunning((now) => (now?.stop === mine ? { ...now, count } : now));
    await attempt(() => exportAs(name, format, load, { signal: mine.signal, onCount }));
    setRunning((now) => (now?.stop === mine ? undefined : now));
  };
  return (
    <>
      {formats.map(([format, label]) => (
        <button key={format} type="button" disabled={running !== undefined} onClick={() => void save(format)}>
          {running?.format === format ? `Exporting: ${entriesOf(running.count)}` : label}
        </button>
      ))}
      {running && (
        <button
          type="button"
          onClick={() => {
            running.stop.abort();
            setRunning(undefined);
            say("The export is canceled.");
          }}
        >
          Cancel
        </button>
      )}
    </>
  );
}

export function AuditView() {
  const place = usePlace();
  const order = place.order(["TIME"] as const, "-TIME");
  const organizations = useOrganizationOptions();
  const filter = {
    actor: place.filter("actor"),
    action: place.filter<AuditAction>("action"),
    resourceType: place.filter("resource"),
    organization: place.filter("organization"),
    scimKey: place.filter("key"),
    resourceId: place.filter("object"),
    after: timeOf(dayFrom(place.get("from"))) ?? daysAgo(place.get("days")),
    before: timeOf(lastOf(place.get("until"))),
  };
  const log = useData(AuditLog, { filter, orderBy: order, ...place.cursors });
  const load = (cursors: object) =>
    ask(AuditLog, { filter, orderBy: order, ...cursors }).then(({ auditEvents }) => auditEvents);
  return (
    <>
      <Heading title="Audit log" note="Who changed what, and when.">
        <a href="/audit/readers">Readers</a>
        {log.data && <Exports name="audit-log" load={load} />}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="User who acted" name="actor" />
        <Choice place={place} label="Action" name="action" options={actions.map((name) => [name, wordsOf(name)])} />
        <Choice place={place} label="What" name="resource" options={resources.map((name) => [name, wordsOf(name)])} />
        {organizations.length > 1 && (
          <Choice place={place} label="Organization" name="organization" options={organizations} />
        )}
        <Choice place={place} label="When" name="days" any="Any time" options={periods} />
        <Day place={place} label="From" name="from" />
        <Day place={place} label="Until" name="until" />
        {place.get("object") && (
          <button type="button" onClick={() => place.set({ object: "" })}>
            Not only one object
          </button>
        )}
        {place.get("key") && (
          <button type="button" onClick={() => place.set({ key: "" })}>
            Not only by the SCIM key {place.get("key")}
          </button>
        )}
      </Filters>
      <List
        name="Audit log"
        rows={log.data?.auditEvents}
        from={log}
        empty="No event matches."
        place={place}
        order={order}
        columns={[
          { title: "Time", sort: "TIME", show: ({ time }) => <Time at={time} /> },
          {
            title: "Who",
            show: ({ actorId, actorUsername, actorKind }) =>
              actorId && actorUsername ? <a href={`/users/${actorId}`}>{actorUsername}</a> : wordsOf(actorKind),
          },
          {
            title: "Action",
            show: ({ action }) =>
              refusals.has(action) ? <Status name="FAILED" label={wordsOf(action)} /> : wordsOf(action),
          },
          {
            title: "What",
            show: ({ resourceType, resourceLabel, resourceId }) => (
              <>
                {wordsOf(resourceType)}{" "}
                {resourceId ? (
                  <button
                    type="button"
                    class="plain name"
                    title="Show only events of this object"
                    onClick={() => place.set({ resource: resourceType, object: resourceId })}
                  >
                    <Label type={resourceType} text={resourceLabel} />
                  </button>
                ) : (
                  <Label type={resourceType} text={resourceLabel} />
                )}
              </>
            ),
          },
          { title: "Changes", show: (event) => <Diff diff={event.diff} requestId={event.requestId} /> },
          { title: "From", show: ({ ip }) => ip },
        ]}
      />
    </>
  );
}

const showValue = (value: unknown) =>
  value === undefined || value === null || value === ""
    ? "nothing"
    : typeof value === "string"
      ? value
      : JSON.stringify(value);

function Diff({ diff, requestId }: { diff: Record<string, unknown>; requestId: string }) {
  const entries = Object.entries(diff as Record<string, { old?: unknown; new?: unknown; secret?: boolean }>);
  const names = entries.map(([field]) => wordsOf(field)).join(", ");
  return (
    <details>
      <summary>{names.length > 40 ? `${names.slice(0, 40)}…` : names || "Details"}</summary>
      <dl class="diff">
        {entries.map(([field, value]) => (
          <div key={field}>
            <dt>{wordsOf(field)}</dt>
            <dd>
              <del>{showValue(value?.old)}</del> <ins>{showValue(value?.new)}</ins>
            </dd>
          </div>
        ))}
        <div>
          <dt>Request ID</dt>
          <dd>
            <code>{requestId}</code>
          </dd>
        </div>
      </dl>
    </details>
  );
}

const types = ["SSH", "VSCODE", "JETBRAINS", "RECONNECTING_PTY", "WORKSPACE_APP", "PORT_FORWARDING"];

export function ConnectionsView() {
  const place = usePlace();
  const order = place.order(["CONNECT_TIME"] as const, "-CONNECT_TIME");
  const owner = place.get("owner");
  const terms = { type: place.get("type").toLowerCase(), status: place.get("status"), workspace_owner: owner };
  const q =
    Object.entries(terms)
      .filter(([, value]) => value)
      .map(([key, value]) => `${key}:${value}`)
      .join(" ") || null;
  const log = useData(ConnectionLog, { q, orderBy: order, ...place.cursors });
  const load = (cursors: object) =>
    ask(ConnectionLog, { q, orderBy: order, ...cursors }).then(({ connectionLogs }) => connectionLogs);
  return (
    <>
      <Heading title="Connections" note="Who connected to workspaces, and how.">
        {log.data && <Exports name="connections" load={load} />}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Owner of the workspace" name="owner" />
        <Choice place={place} label="By" name="type" options={types.map((name) => [name, wordsOf(name)])} />
        <Choice
          place={place}
          label="State"
          name="status"
          options={[
            ["ongoing", "Connected"],
            ["completed", "Ended"],
          ]}
        />
      </Filters>
      <List
        name="Connections"
        rows={log.data?.connectionLogs}
        from={log}
        empty="No connection matches."
        place={place}
        order={order}
        columns={[
          { title: "Time", sort: "CONNECT_TIME", show: ({ connectTime }) => <Time at={connectTime} /> },
          {
            title: "Workspace",
            show: ({ workspaceId, workspaceName, workspaceOwner, agentName }) => (
              <>
                <a href={`/workspaces/${workspaceId}`}>
                  {workspaceOwner.username}/{workspaceName}
                </a>{" "}
                <span class="faint">{agentName}</span>
              </>
            ),
          },
          {
            title: "By",
            show: ({ type, webInfo }) =>
              webInfo?.slugOrPort ? `${wordsOf(type)} ${webInfo.slugOrPort}` : wordsOf(type),
          },
          {
            title: "Who",
            show: ({ webInfo }) => webInfo?.user && <PersonLink user={webInfo.user} />,
          },
          {
            title: "State",
            show: ({ sshInfo, webInfo }) =>
              webInfo?.statusCode ? (
                <Status name={webInfo.statusCode < 400 ? "OK" : "FAILED"} label={String(webInfo.statusCode)} />
              ) : sshInfo?.disconnectTime ? (
                <>
                  Ended <Time at={sshInfo.disconnectTime} />{" "}
                  {sshInfo.disconnectReason && <span class="faint block">{sshInfo.disconnectReason}</span>}
                </>
              ) : (
                <Status name="CONNECTED" />
              ),
          },
          { title: "From", show: ({ ip }) => ip },
        ]}
      />
    </>
  );
}
