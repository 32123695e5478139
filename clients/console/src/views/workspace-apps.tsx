// What people open and connect to in a workspace. No traffic goes through the server: what this browser cannot reach is said.
import { useState } from "preact/hooks";
import { wordsOf } from "../ui/text";
import { Panel, Status } from "../ui/parts";
import type { BuildFragment } from "./workspace.gql";

type AgentData = BuildFragment["resources"][number]["agents"][number];
type App = AgentData["apps"][number];

/** Hosts that are this machine itself. */
const loopback = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Schemes that are never opened: they run in the page, or read files. */
const closed = /^(javascript|data|vbscript|blob|file|about):$/;

/** Whether this browser can reach an address: that of a workspace's own machine only on that machine. */
const isReached = ({ protocol, hostname }: URL): boolean =>
  !/^https?:$/.test(protocol) || !loopback.test(hostname) || loopback.test(location.hostname);

/** URLs leave out the usual port of their scheme. */
const portOf = ({ port, protocol }: URL): string => port || (protocol === "https:" ? "443" : "80");

/** The address at which this browser opens an app; otherwise why it cannot, with what helps. */
function addressOf({ url, command, external }: App, workspace: string): { href: string } | { reason: string } {
  const parsed = URL.parse(url);
  if (!parsed && command) return { reason: `Runs in a terminal of the workspace: ${command}` };
  if (!parsed || closed.test(parsed.protocol)) return { reason: "The template gives it no address." };
  if (!/^https?:$/.test(parsed.protocol) && !external) return { reason: "The template gives it no address." };
  if (isReached(parsed)) return { href: parsed.href };
  return {
    reason: `It listens on the machine of the workspace alone. Use a browser there, or: steward port-forward ${workspace} ${portOf(parsed)}`,
  };
}

/** A link, which opens a window of its own where the template says so. */
function AppButton({ app, href, isRunning }: { app: App; href: string; isRunning: boolean }) {
  const { displayName, slug, icon, tooltip, openIn, health } = app;
  const isDown = health === "UNHEALTHY" || health === "INITIALIZING" || !isRunning;
  return (
    <a
      class={`button app ${isDown ? "" : "primary"}`}
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      title={tooltip || undefined}
      onClick={(event) => {
        if (openIn !== "SLIM_WINDOW" || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        window.open(href, "_blank", "noopener,noreferrer,popup,width=1200,height=800");
      }}
    >
      {icon.startsWith("/") && !icon.startsWith("//") && <img src={icon} alt="" width="16" height="16" />}
      Open {displayName || slug}
    </a>
  );
}

/** The apps of an agent: buttons for those that this browser can reach, and reasons for the others. */
export function Apps({ agent, workspace }: { agent: AgentData; workspace: string }) {
  const apps = agent.apps.filter(({ hidden, id }) => !hidden && id !== "");
  if (apps.length === 0) return null;
  const isRunning = agent.status === "CONNECTED";
  // What an agent has reported before it was lost says nothing of its apps.
  const isLost = agent.status === "DISCONNECTED" || agent.status === "TIMEOUT";
  const groups = [...new Set(apps.map(({ group }) => group))];
  return (
    <>
      {groups.map((group) => (
        <ul key={group} class="apps" aria-label={group || `Apps of ${agent.name}`}>
          {group && <li class="faint">{group}</li>}
          {apps
            .filter((app) => app.group === group)
            .map((app) => {
              const address = addressOf(app, workspace);
              return (
                <li key={app.id}>
                  {"href" in address ? (
                    <AppButton app={app} href={address.href} isRunning={isRunning} />
                  ) : (
                    <span>
                      <b>{app.displayName || app.slug}</b>
                    </span>
                  )}{" "}
                  {app.health !== "DISABLED" && <Status name={isLost ? "UNKNOWN" : app.health} />}
                  {"reason" in address && <p class="faint">{address.reason}</p>}
                  {"href" in address && app.tooltip && <p class="faint">{app.tooltip}</p>}
                </li>
              );
            })}
        </ul>
      ))}
    </>
  );
}

/** What to do about an agent that has not come, or is gone. */
const remedies: Record<string, string> = {
  TIMEOUT: "It has not connected in time. Read its log and that of the build; then stop and start the workspace.",
  DISCONNECTED: "It is silent: its machine or its network may be down. It comes back by itself once they do.",
  CONNECTING: "Not connected yet.",
};

const sentenceOf = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** The state of an agent in a sentence, with its troubleshooting page. */
export function AgentState({ agent }: { agent: AgentData }) {
  const { status, health, lifecycleState, troubleshootingUrl } = agent;
  const remedy = remedies[status];
  const isFaulty = !health.healthy || ["START_TIMEOUT", "START_ERROR"].includes(lifecycleState);
  if (!remedy && !isFaulty) return null;
  const url = URL.parse(troubleshootingUrl);
  // A remedy says it, too, in other words.
  const reason = health.healthy || remedy ? "" : health.reason;
  const sentence = reason && sentenceOf(reason);
  const started =
    isFaulty && health.healthy ? `${wordsOf(lifecycleState)}: its log has the output of its scripts.` : "";
  return (
    <div class={status === "CONNECTING" && health.healthy ? "note" : "alarm"}>
      <p>{[sentence, remedy, started].filter(Boolean).join(" ")}</p>
      {url && /^https?:$/.test(url.protocol) && (
        <p>
          <a href={url.href} target="_blank" rel="noopener noreferrer">
            What helps with this template
          </a>
        </p>
      )}
    </div>
  );
}

/** How one connects to a workspace from a terminal, and where that works. */
export function Connect({ name, agents }: { name: string; agents: readonly AgentData[] }) {
  const urls = agents.flatMap(({ apps }) => apps.flatMap(({ url }) => URL.parse(url) ?? []));
  const server = URL.parse(agents.flatMap(({ apps }) => apps).find(({ slug }) => slug === "ssh")?.url ?? "");
  const ssh = server && !loopback.test(server.hostname) ? server : undefined;
  const address = urls.find(({ protocol, hostname }) => /^https?:$/.test(protocol) && !loopback.test(hostname));
  const isConnected = agents.some(({ status }) => status === "CONNECTED");
  return (
    <Panel title="Connect from a terminal">
      <CopyLine label="Command" line={`steward ssh ${name}`} />
      <p class="faint">
        {ssh
          ? `It connects directly to ${ssh.host}.`
          : address
            ? `A shell opens on the machine of the workspace alone. From elsewhere, its ports are reached directly at ${address.hostname}: steward port-forward ${name} PORT.`
            : "It works on the machine of the workspace alone: its agents advertise no address, and no traffic goes through this server."}
        {!isConnected && " Its agents are not connected now."}
      </p>
    </Panel>
  );
}

/** A line to copy, such as a command. */
function CopyLine({ label, line }: { label: string; line: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <p class="copy-line">
      <code aria-label={label}>{line}</code>
      <button
        type="button"
        aria-label={`Copy ${label}`}
        onClick={() => void navigator.clipboard.writeText(line).then(() => setCopied(true))}
      >
        {isCopied ? "Copied" : "Copy"}
      </button>
    </p>
  );
}
