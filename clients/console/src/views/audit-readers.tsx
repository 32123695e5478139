import { useData, usePolling } from "../api/hooks";
import { Choice, Filters, List } from "../ui/list";
import { Heading, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { countOf, wordsOf } from "../ui/text";
import { AuditReaders } from "./audit-readers.gql";

/** The filter of a reader, in words. */
const inWords = (filter: Record<string, unknown>) =>
  Object.entries(filter)
    .map(([name, value]) => `${wordsOf(name)}: ${String(value)}`)
    .join(", ") || "All that the reader may read";

export function AuditReadersView() {
  const place = usePlace();
  const state = place.get("state");
  const readers = useData(AuditReaders, { active: state ? state === "connected" : null, ...place.cursors });
  const rows = readers.data?.auditReaders;
  usePolling(readers, 10_000, rows?.nodes.some(({ isActive }) => isActive) ?? false);
  return (
    <>
      <Heading title="Readers of the audit log" note="Programs that receive the audit log as it is written.">
        <a href="/audit">Audit log</a>
      </Heading>
      <Filters place={place}>
        <Choice
          place={place}
          label="State"
          name="state"
          options={[
            ["connected", "Connected"],
            ["gone", "Gone"],
          ]}
        />
      </Filters>
      <List
        name="Readers of the audit log"
        rows={rows}
        from={readers}
        empty="No program receives the audit log."
        place={place}
        columns={[
          {
            title: "Who",
            show: ({ user, username, userAgent }) => (
              <>
                {user ? <a href={`/users/${user.id}`}>{username}</a> : username}{" "}
                <span class="faint block">{userAgent}</span>
              </>
            ),
          },
          { title: "State", show: ({ isActive }) => <Status name={isActive ? "CONNECTED" : "DISCONNECTED"} /> },
          { title: "Behind", show: ({ behind }) => (behind === 0 ? "Has all" : countOf(behind, "event")) },
          { title: "Receives", show: ({ filter }) => inWords(filter) },
          { title: "Since", show: ({ startedAt }) => <Time at={startedAt} /> },
          {
            title: "Until",
            show: ({ isActive, endedAt, seenAt }) => (isActive ? "now" : <Time at={endedAt ?? seenAt} />),
          },
          { title: "From", show: ({ ip, apiKeyId }) => [ip, apiKeyId].filter(Boolean).join(", ") },
        ]}
      />
    </>
  );
}
