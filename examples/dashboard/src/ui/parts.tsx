import { type ReactNode, useEffect, useRef, useState } from "react";

/** Names with a spelling of their own. */
const spellings: Record<string, string> = {
  VSCODE: "VS Code",
  JETBRAINS: "JetBrains",
  SSH: "SSH",
  RECONNECTING_PTY: "Terminal",
  OIDC: "OpenID Connect",
  GITHUB: "GitHub",
  API_KEY: "API key",
};

/** `ORGANIZATION_ADMIN` as people read it: "Organization admin". */
export function wordsOf(name: string): string {
  const own = spellings[name.toUpperCase()];
  if (own) return own;
  const words = name.toLowerCase().replaceAll("_", " ");
  return (words.charAt(0).toUpperCase() + words.slice(1)).replace(/oauth2/i, "OAuth2");
}

const tones: Record<string, string> = {
  ACTIVE: "good",
  RUNNING: "good",
  HEALTHY: "good",
  CONNECTED: "good",
  SUCCEEDED: "good",
  COMPLETE: "good",
  DELIVERED: "good",
  BUSY: "busy",
  WORKING: "busy",
  PENDING: "busy",
  STARTING: "busy",
  STOPPING: "busy",
  INITIALIZING: "busy",
  CONNECTING: "busy",
  CANCELING: "busy",
  DELETING: "busy",
  QUEUED: "busy",
  FAILED: "bad",
  ERROR: "bad",
  SUSPENDED: "bad",
  UNHEALTHY: "bad",
  TIMEOUT: "bad",
};

/** A state, by color and by word. */
export const Status = ({ name, label }: { name: string; label?: string }) => (
  <span className={`status ${tones[name] ?? "calm"}`}>{label ?? wordsOf(name)}</span>
);

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
const units = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

function sinceNow(time: string): string {
  const seconds = (Date.parse(time) - Date.now()) / 1_000;
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? [];
  return unit ? relative.format(Math.round(seconds / size!), unit) : "just now";
}

/** A time relative to now, which stays true while it is shown. The exact one appears above it. */
export function Time({ at }: { at?: string | null }) {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span className="faint">never</span>;
  return (
    <time dateTime={at} title={exact.format(new Date(at))}>
      {sinceNow(at)}
    </time>
  );
}

/** A color of its own for each name, dark enough for white letters. */
const hueOf = (name: string) => [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);

export function Person({ user }: { user: { username: string; name: string; avatarUrl?: string } }) {
  const { username, name, avatarUrl } = user;
  const initials = (name || username)
    .split(/[\s-]+/)
    .slice(0, 2)
    .map((word) => word.charAt(0).toUpperCase())
    .join("");
  return (
    <span className="person">
      {avatarUrl ? (
        <img className="avatar" src={avatarUrl} alt="" />
      ) : (
        <span className="avatar" aria-hidden="true" style={{ background: `hsl(${hueOf(username)} 45% 38%)` }}>
          {initials}
        </span>
      )}
      <span>
        {name || username} {name && name !== username && <span className="faint">{username}</span>}
      </span>
    </span>
  );
}

/** The heading of a page, with its actions. */
export function Heading({ title, children, note }: { title: ReactNode; children?: ReactNode; note?: ReactNode }) {
  const text = typeof title === "string" ? title : undefined;
  useEffect(() => {
    if (text) document.title = `${text} – Steward`;
  }, [text]);
  return (
    <header className="heading">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {note && <p className="faint">{note}</p>}
      </div>
      {children && <div className="actions">{children}</div>}
    </header>
  );
}

export const Facts = ({ facts }: { facts: Array<[string, ReactNode]> }) => (
  <dl className="facts">
    {facts.map(([term, value]) => (
      <div key={term}>
        <dt>{term}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

export const Panel = ({ title, children, actions }: { title: string; children: ReactNode; actions?: ReactNode }) => (
  <section className="panel" aria-label={title}>
    <header>
      <h2>{title}</h2>
      {actions}
    </header>
    {children}
  </section>
);

export const Empty = ({ children }: { children: ReactNode }) => <p className="empty">{children}</p>;

export const Loading = () => (
  <output className="loading">
    <span className="hidden">Loading</span>
    <i />
    <i />
    <i />
  </output>
);

/** A secret that is shown once, ready to be copied. */
export function Revealed({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Dialog title={title} onClose={onClose}>
      <p>Copy it now: it is not shown again.</p>
      <code className="secret">{secret}</code>
      <footer>
        <button type="button" onClick={() => void navigator.clipboard.writeText(secret).then(() => setCopied(true))}>
          {isCopied ? "Copied" : "Copy"}
        </button>
        <button type="button" className="primary" onClick={onClose}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

export function Dialog({ title, children, onClose }: { title: string; children: ReactNode; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
