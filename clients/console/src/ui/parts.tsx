import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal, useSignal } from "../api/signal";
import { exactly, nounOf, sinceNow, titleOf, wordsOf } from "./text";

const tones: Record<string, string> = {};
for (const [tone, names] of Object.entries({
  good: "ACTIVE RUNNING HEALTHY CONNECTED SUCCEEDED COMPLETE DELIVERED SENT OK IDLE READY ENTITLED YES",
  busy: "BUSY WORKING PENDING STARTING STOPPING INITIALIZING CONNECTING CANCELING DELETING QUEUED LEASED DELIVERING GRACE_PERIOD TEMPORARY_FAILURE DEGRADED WARNING",
  bad: "DISCONNECTED FAILED ERROR SUSPENDED UNHEALTHY TIMEOUT PERMANENT_FAILURE UNREACHABLE NOT_ENTITLED NO HARD_LIMITED",
}))
  for (const name of names.split(" ")) tones[name] = tone;

/** A state, by color and by word. */
export const Status = ({ name, label }: { name: string; label?: string }) => (
  <span class={`status ${tones[name] ?? "calm"}`}>{label ?? wordsOf(name)}</span>
);

/**
 * A time relative to now, which stays true while it is shown. The exact one, with the zone, appears above it, and in its place
 * while it has the focus: by keyboard, or by a touch.
 */
export function Time({ at, none = "never" }: { at?: string | null; none?: string }) {
  const [, setTick] = useState(0);
  const [isExact, setExact] = useState(false);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span class="faint">{none}</span>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- The focus shows more of it.
    <time
      dateTime={at}
      title={exactly(at)}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- the same
      tabIndex={0}
      onFocus={() => setExact(true)}
      onBlur={() => setExact(false)}
    >
      {isExact ? exactly(at) : sinceNow(at)}
    </time>
  );
}

/** When something was used last, and from which address. */
export function LastUse({ at, ip }: { at: string | null; ip: string | null }) {
  return (
    <>
      <Time at={at} /> {at && ip && <span class="faint long">from {ip}</span>}
    </>
  );
}

/** One of a few colors for each name, dark enough for white letters. */
const colorOf = (name: string) => [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 6, 0);

interface PersonData {
  username: string;
  name: string;
}

export function Person({ user }: { user: PersonData }) {
  const { username, name } = user;
  const initials = (name || username)
    .split(/[\s-]+/)
    .slice(0, 2)
    .map((word) => word.charAt(0).toUpperCase())
    .join("");
  return (
    <span class="person">
      <span class={`avatar color-${colorOf(username)}`} aria-hidden="true">
        {initials}
      </span>
      <span>
        <bdi>{name || username}</bdi> {name && name !== username && <span class="faint">{username}</span>}
      </span>
    </span>
  );
}

/** A link to a user. */
export const PersonLink = ({ user }: { user: PersonData & { id: string } }) => (
  <a href={`/users/${user.id}`}>
    <Person user={user} />
  </a>
);

export const Named = ({ of }: { of: { name: string; displayName?: string | null } }) => <>{titleOf(of)}</>;

interface HeadingProps {
  title: string;
  children?: ComponentChildren;
  note?: ComponentChildren;
  /** The list that the object is in. */
  up?: readonly [path: string, label: string];
}

/** The name of the application, as administrators chose it. */
export const productName = signal("Steward");

/** Whether another page was opened since the console was loaded. */
export const hasNavigated = signal(false);

/** The heading of a page, with its actions. */
export function Heading({ title, children, note, up }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const product = useSignal(productName);
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title, product]);
  useEffect(() => {
    // Screen readers begin at the new page, as after a page load.
    if (hasNavigated.value) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header class="heading">
      <div>
        {up && (
          <a class="up" href={up[0]}>
            {up[1]}
          </a>
        )}
        <h1 ref={heading} tabIndex={-1}>
          <bdi>{title}</bdi>
        </h1>
        {note && <p class="faint">{note}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

/** A value, or a dash for none: an empty place would look as if something were missing. */
export const Value = ({ of }: { of: ComponentChildren }) =>
  of === "" || of == null || of === false ? <span class="faint">–</span> : <>{of}</>;

export const Facts = ({ facts }: { facts: ReadonlyArray<readonly [term: string, value: ComponentChildren]> }) => (
  <dl class="facts">
    {facts.map(([term, value]) => (
      <div key={term}>
        <dt>{term}</dt>
        <dd>
          <Value of={value} />
        </dd>
      </div>
    ))}
  </dl>
);

interface PanelProps {
  title: string;
  children: ComponentChildren;
  actions?: ComponentChildren;
}

export const Panel = ({ title, children, actions }: PanelProps) => (
  <section class="panel" aria-label={title}>
    <header>
      <h2>{title}</h2>
      <div class="actions">{actions}</div>
    </header>
    {children}
  </section>
);

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

export const Loading = () => (
  <output class="loading">
    <span class="hidden">Loading</span>
    <i />
    <i />
    <i />
  </output>
);

/** A part of a whole as a bar, with both in words. `of` is undefined where there is no limit. */
interface ShareProps {
  part: number;
  of?: number | null;
  show?: (n: number) => string;
  unit?: string;
}

export function Share({ part, of, show = String, unit = "" }: ShareProps) {
  if (of == null) return <>{show(part)}</>;
  const percent = of === 0 ? (part > 0 ? 100 : 0) : Math.min(100, Math.round((part / of) * 100));
  const tone = percent >= 100 ? "bad" : percent >= 80 ? "busy" : "good";
  return (
    <span class="share">
      <span>
        {show(part)} of {show(of)} {unit}
      </span>
      <progress class={tone} max={100} value={percent} aria-label={`${percent} percent used`} />
    </span>
  );
}

/** Values by name, such as tags and changes. */
export const Pairs = ({ of }: { of: Record<string, unknown> }) => (
  <Labels
    of={Object.entries(of)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)}
  />
);

/** Short texts side by side, such as scopes. */
export const Labels = ({ of, none = "–" }: { of: readonly string[] | null | undefined; none?: string }) =>
  of?.length ? (
    <span class="pairs">
      {of.map((each) => (
        <code key={each}>{each}</code>
      ))}
    </span>
  ) : (
    <span class="faint">{none}</span>
  );

interface LabelProps {
  type: string;
  text?: string | null;
}

/** The name of an object of the audit log. Of an object without a name, its ID shortened. Jobs are named by their type. */
export const Label = ({ type, text }: LabelProps) =>
  text && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text) ? (
    <code title={text}>{text.slice(-8)}</code>
  ) : (
    <b>{text && type === "provisioner_job" ? nounOf(text) : text}</b>
  );
