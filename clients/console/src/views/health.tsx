import { useEffect, useState } from "preact/hooks";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData, usePolling } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { List } from "../ui/list";
import { Empty, Facts, Heading, Loading, Panel, Status, Time } from "../ui/parts";
import { countOf, titleOf, wordsOf } from "../ui/text";
import { isMuted } from "./health-checks";
import { Health, HealthChecks, type HealthCheckRowFragment, MuteHealthCheck } from "./health.gql";

interface Readiness {
  status: string;
  failed?: string[];
  /** What does not work although the server is ready. */
  degraded?: string[];
}

/** The state of the server, as a status. */
function StateOf({ status, failed, degraded }: Readiness) {
  if (status !== "ok") return <Status name="FAILED" label={failed?.map(wordsOf).join(", ") ?? "Not ready"} />;
  if (!degraded?.length) return <Status name="OK" label="Ready" />;
  return <Status name="DEGRADED" label={`Ready, but degraded: ${degraded.map(wordsOf).join(", ")}`} />;
}

/** Milliseconds between looks at the readiness of the server. */
const pollInterval = 5_000;

/** The health of the server, read repeatedly. */
function useReadiness(): Readiness | undefined {
  const [readiness, setReadiness] = useState<Readiness>();
  useEffect(() => {
    const look = () =>
      void fetch("/readyz")
        .then((response) => response.json() as Promise<Readiness>)
        .then(setReadiness, () => setReadiness({ status: "unreachable" }));
    look();
    const timer = setInterval(look, pollInterval);
    return () => clearInterval(timer);
  }, []);
  return readiness;
}

type Check = HealthCheckRowFragment;

const mutes = [
  ["1", "For a day"],
  ["7", "For a week"],
  ["30", "For 30 days"],
  ["90", "For 90 days"],
] as const;

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** What a check has found, with what to do about it. */
const Finding = ({ check }: { check: Check }) => (
  <>
    {check.finding}
    <span class="faint block">{check.advice}</span>
  </>
);

const Title = ({ check: { title, docsUrl, meaning, state } }: { check: Check }) => (
  <>
    <b>{title}</b>
    {state !== "OK" && <span class="faint block">{meaning}</span>}
    <a class="block" href={docsUrl} aria-label={`What it means: ${title}`}>
      What it means
    </a>
  </>
);

interface ChecksProps {
  name: string;
  rows: readonly Check[];
  mayMute: boolean;
}

/** Checks that need attention, or would if they were not muted. */
const FailingChecks = ({ name, rows, mayMute }: ChecksProps) => (
  <List
    name={name}
    rows={rows}
    keyOf={({ code }) => code}
    empty=""
    columns={[
      { title: "Check", show: (check) => <Title check={check} /> },
      { title: "State", show: ({ state }) => <Status name={state} /> },
      { title: "Since", show: ({ since }) => <Time at={since} /> },
      { title: "Finding", show: (check) => <Finding check={check} /> },
      { title: "Actions", isAction: true, show: (check) => mayMute && <MuteButton check={check} /> },
    ]}
  />
);

/** Checks that find nothing wrong, in short. */
const FineChecks = ({ rows }: { rows: readonly Check[] }) => (
  <details>
    <summary>
      {countOf(rows.length, "check")} {rows.length === 1 ? "finds" : "find"} nothing wrong
    </summary>
    <List
      name="Fine"
      rows={rows}
      keyOf={({ code }) => code}
      empty=""
      columns={[
        {
          title: "Check",
          show: ({ title, state, docsUrl }) => (
            <a href={docsUrl}>
              <Status name={state} label={title} />
            </a>
          ),
        },
        { title: "Finding", show: ({ finding }) => finding },
        { title: "Since", show: ({ since }) => <Time at={since} /> },
      ]}
    />
  </details>
);

function MuteButton({ check }: { check: Check }) {
  const { code, title, mutedUntil, mutedBy } = check;
  if (isMuted(check))
    return (
      <>
        <span class="faint block">
          Until <Time at={mutedUntil} />
          {mutedBy && `, by ${mutedBy.name || mutedBy.username}`}
        </span>
        <Action
          label="Unmute"
          on={title}
          run={MuteHealthCheck}
          given={{ code, until: null }}
          said="The check is heard again."
        />
      </>
    );
  return (
    <Action
      label="Mute"
      on={title}
      title={`Mute ${title}`}
      note="The check still runs, but its failures are neither counted nor told. The audit log keeps who muted it."
      run={MuteHealthCheck}
      given={{ code }}
      fields={[{ name: "days", label: "Time", options: mutes }]}
      prepare={({ days }) => ({ until: inDays(Number(days)) })}
      submit="Mute"
      said={`${title} is muted.`}
      undo={() => perform(MuteHealthCheck, { input: { code, until: null } })}
    />
  );
}

/** The results of the checks, which a server stores every minute: what needs attention, what is muted, and what is fine. */
function AllChecks() {
  const may = useAllowed({ mute: { may: "deployment_config:update" } });
  const loaded = useData(HealthChecks, {});
  const { data, error, refresh } = loaded;
  usePolling(loaded, 15_000);
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { healthChecks: all } = data;
  if (all.length === 0)
    return (
      <Empty>There are no results: the checks have not run yet, or are switched off by STEWARD_HEALTH_INTERVAL.</Empty>
    );
  const muted = all.filter(isMuted);
  const heard = all.filter((check) => !isMuted(check));
  const failing = heard.filter(({ state }) => state !== "OK");
  const fine = heard.filter(({ state }) => state === "OK");
  const panels = [
    [`${countOf(failing.length, "check")} ${failing.length === 1 ? "needs" : "need"} attention`, failing],
    ["Muted", muted],
  ] as const;
  return (
    <>
      {failing.length === 0 && <p class="note">No check needs attention.</p>}
      {panels.map(
        ([title, rows]) =>
          rows.length > 0 && (
            <Panel key={title} title={title}>
              <FailingChecks name={title} rows={rows} mayMute={may("mute")} />
            </Panel>
          ),
      )}
      {fine.length > 0 && <FineChecks rows={fine} />}
      <p class="faint">
        Checked <Time at={all[0]!.checkedAt} />
      </p>
    </>
  );
}

export function HealthView() {
  const may = useAllowed({ encryption: { may: "system:read" } });
  const { data, error, refresh } = useData(Health, may.isKnown ? { encryption: may("encryption") } : undefined);
  const readiness = useReadiness();
  if (!data) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const { serverInfo: info, encryptionStatus: encryption, regions } = data;
  return (
    <>
      <Heading title="Health" note={info.accessUrl} />
      <Facts
        facts={[
          ["State", readiness && <StateOf key="ready" {...readiness} />],
          ["Version", info.commit ? `${info.version} (${info.commit})` : info.version],
          ["Deployment ID", info.deploymentId],
          ["Password sign-in", info.passwordAuth ? "On" : "Off"],
          ["Identity providers", info.identityProviders.map(({ label }) => label).join(", ")],
          ["Passcodes by email", info.sendsPasscodes ? "Sent" : "Not sent: email is not set up"],
          ["Host of applications", data.applicationsHost],
        ]}
      />
      <AllChecks />
      <Panel title="Regions">
        <List
          name="Regions"
          rows={regions}
          empty="There are no regions."
          columns={[
            { title: "Region", show: (region) => titleOf(region) },
            { title: "Health", show: ({ healthy }) => <Status name={healthy ? "HEALTHY" : "UNHEALTHY"} /> },
            { title: "Address", show: ({ pathAppUrl }) => pathAppUrl },
          ]}
        />
      </Panel>
      {encryption && (
        <Panel title="Encryption keys">
          {encryption.keys.length === 0 && <Empty>No key: secrets are not encrypted.</Empty>}
          <List
            name="Encryption keys"
            rows={encryption.keys}
            empty=""
            columns={[
              { title: "Key", show: ({ id }) => <code>{id}</code> },
              {
                title: "Use",
                show: ({ id, present }) =>
                  id === encryption.activeKeyId ? (
                    <Status name="ACTIVE" label="Encrypts" />
                  ) : (
                    <Status name={present ? "IDLE" : "FAILED"} label={present ? "Decrypts" : "Missing"} />
                  ),
              },
              {
                title: "Values",
                isNumber: true,
                show: ({ rows }) => rows.reduce((sum, { count }) => sum + count, 0),
              },
            ]}
          />
        </Panel>
      )}
    </>
  );
}
