import { Status, Time } from "./parts";
import { wordsOf } from "./text";

interface Health {
  state: string;
  reason?: string | null;
  since?: string | null;
  help?: string | null;
}

/** The states of what runs. */
const runs = new Set(["RUNNING", "ACTIVE"]);

/** A status that is good only if nothing is wrong, with the reason if there is any. */
export function HealthStatus({ status, health, label }: { status: string; health: Health; label?: string }) {
  const isUnhealthy = health.state === "UNHEALTHY";
  const isStarting = health.state === "IN_PROGRESS" && runs.has(status);
  const name = isUnhealthy ? "UNHEALTHY" : isStarting ? "STARTING" : status;
  const shown = isUnhealthy && !runs.has(status) ? wordsOf(status) : wordsOf(name);
  return (
    <>
      <Status name={name} label={label ?? shown} />
      {health.reason && <span class="faint block">{health.reason}</span>}
    </>
  );
}

/** What is wrong, since when, and what helps; or what is awaited. Nothing for what is healthy. */
export function HealthNote({ health }: { health: Health }) {
  if (!health.reason) return null;
  return (
    <output class={`block ${health.state === "UNHEALTHY" ? "alarm" : "note"}`}>
      <b>{health.reason}</b> It began <Time at={health.since} />. {health.help}
    </output>
  );
}
