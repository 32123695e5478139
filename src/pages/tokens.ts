import { databaseTime, instantOf } from "../runtime/clock.js";
import type { Context } from "../domain/kernel/context.js";
import { translate } from "../graphql/engine/errors.js";
import type { StoredOperation } from "../graphql/engine/stored-operations.js";
import { TransportError } from "../http/errors.js";
import { accountPage, type Item, listOf, timeOf } from "./account.js";
import { sessionForm } from "./forms.js";
import { type Html, html, type Part } from "./html.js";
import { alarm, notice } from "./layout.js";
import { type Outcome, type PageHandler, perform, signedIn, type StatusPage, type Visit } from "./visit.js";

interface Key {
  id: string;
  kind: "SESSION" | "TOKEN" | "OAUTH" | "APPLICATION";
  name: string;
  scopes: string[];
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string;
  ip: string | null;
  userAgent: string | null;
  factor: string | null;
  provider: string | null;
  isCurrent: boolean;
  madeBy: { kind: Key["kind"] | null; name: string; hasEnded: boolean } | null;
}

/** The things that a revoked key made: those that ended, and those that are left. */
interface Revoked {
  apiKey: Pick<Key, "isCurrent">;
  endedKeyCount: number;
  endedGrantCount: number;
  left: ReadonlyArray<{ resourceType: string; label: string | null; madeAt: string }>;
}

const path = "/account/keys";

/** The page on which users look at their sessions and keys, and revoke them. */
export function keyPages(operation: (name: string) => StoredOperation): { show: PageHandler; submit: PageHandler } {
  const list = operation("OwnKeys");
  const revoke = operation("RevokeKey");
  const revokeOthers = operation("RevokeOtherSessions");

  async function pageOf(visit: Visit, ctx: Context, top?: Html): Promise<StatusPage> {
    const { apiKeys } = await perform<{ apiKeys: Key[] }>(list, ctx.afresh());
    return accountPage(visit, { title: "Sessions and keys", main: html`${top} ${content(visit, apiKeys)}` });
  }

  const actions: Record<string, (visit: Visit, ctx: Context) => Promise<Outcome>> = {
    async revoke(visit, ctx) {
      try {
        const { revokeApiKey } = await perform<{ revokeApiKey: Revoked }>(revoke, ctx, {
          id: visit.form.get("id") ?? "",
          withAllItMade: visit.form.get("all") === "yes",
        });
        if (!revokeApiKey.apiKey.isCurrent) return await pageOf(visit, ctx, reportOf(revokeApiKey));
        visit.endSession();
        return { goTo: "/login?signed_out" };
      } catch (error) {
        if (translate(error).code !== "NOT_FOUND") throw error;
        return { ...(await pageOf(visit, ctx, gone)), status: 404 };
      }
    },

    async revoke_others(visit, ctx) {
      const { revokeSessions } = await perform<{ revokeSessions: { revokedCount: number } }>(revokeOthers, ctx);
      const { revokedCount: count } = revokeSessions;
      return pageOf(visit, ctx, notice(`${count} ${count === 1 ? "session is" : "sessions are"} signed out.`));
    },
  };

  return {
    show: signedIn((visit, ctx) => pageOf(visit, ctx)),

    submit: signedIn(async (visit, ctx) => {
      const action = visit.form.get("action") ?? "";
      if (!Object.hasOwn(actions, action)) throw new TransportError(400, "Validation failed.", "The form is unknown.");
      return actions[action]!(visit, ctx);
    }),
  };
}

/** Says what has ended, and what the user has to look at. */
function reportOf({ endedKeyCount, endedGrantCount, left }: Revoked): Html {
  const also = [
    endedKeyCount > 0 ? countNoun(endedKeyCount, "key") : undefined,
    endedGrantCount > 0 ? `the access of ${countNoun(endedGrantCount, "application")}` : undefined,
  ].filter((part) => part !== undefined);
  const done = notice(also.length === 0 ? "It is revoked." : `It is revoked, and with it ${also.join(" and ")}.`);
  if (left.length === 0) return done;
  return html`${done}
    <section>
      <h2>Made with it, and still there</h2>
      <p>Look at each: anyone who had the key may know its secret.</p>
      <ul>
        ${left.map(
          ({ resourceType, label, madeAt }) =>
            html`<li>${resourceType.replaceAll("_", " ")} ${label ?? ""}, made ${timeOf(madeAt)}</li>`,
        )}
      </ul>
    </section>`;
}

const countNoun = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const gone = alarm("It has been revoked before.");

function content(visit: Visit, keys: readonly Key[]): Html {
  const ofKind = (kind: Key["kind"]) => keys.filter((key) => key.kind === kind);
  const section = (title: string, shown: readonly Key[], more?: Part) =>
    shown.length === 0
      ? undefined
      : html`<section>
          <h2>${title}</h2>
          ${listOf(shown.map((key) => itemOf(visit, key)))} ${more}
        </section>`;
  const sessions = ofKind("SESSION").filter((key) => !isExpired(key));
  const tokens = ofKind("TOKEN");
  return html`${section("Sessions", sessions, sessions.length > 1 ? othersForm(visit) : undefined)}
  ${
    section("API tokens", tokens) ??
    html`<h2>API tokens</h2>
      <p>You have none.</p>`
  }
  ${section("Keys of workspace applications", ofKind("APPLICATION"))}`;
}

const isExpired = ({ expiresAt }: Key): boolean => instantOf(expiresAt) <= databaseTime();

const othersForm = (visit: Visit): Html =>
  actionForm(visit, "revoke_others", html`<button class="quiet">Sign out all other sessions</button>`);

function itemOf(visit: Visit, key: Key): Item {
  const title = key.kind === "TOKEN" ? key.name : programOf(key.userAgent);
  const verb = key.isCurrent ? "Sign out" : "Revoke";
  return {
    title,
    badge: key.isCurrent ? html`<span class="badge">This session</span>` : undefined,
    lines: linesOf(key),
    actions: actionForm(
      visit,
      "revoke",
      html`<input type="hidden" name="id" value="${key.id}" />
        ${key.isCurrent || key.kind === "APPLICATION" ? undefined : allItMade(key)}
        <button class="quiet" aria-label="${verb} ${title}">${verb}</button>`,
    ),
  };
}

/** The choice that all that the key made ends, too: made for tokens, which leak, unless the user takes it back. */
const allItMade = ({ kind }: Key): Html =>
  html`<label
    ><input type="checkbox" name="all" value="yes" ${kind === "TOKEN" ? html`checked` : undefined} /> and all that it
    made</label
  >`;

/** The key that made another one: `API token laptop, which has ended`. */
function makerOf({ kind, name, hasEnded }: NonNullable<Key["madeBy"]>): string {
  const known = kind === null ? "a key" : kind === "TOKEN" ? `API token ${name}` : "a session";
  return hasEnded ? `${known} that has ended` : known;
}

const linesOf = (key: Key): Part[] => {
  const { createdAt, lastUsedAt, expiresAt, ip, scopes, madeBy } = key;
  const use = lastUsedAt === null ? "Never used" : html`Last used ${timeOf(lastUsedAt)}`;
  const end = isExpired(key) ? html`<strong>expired ${timeOf(expiresAt)}</strong>` : html`expires ${timeOf(expiresAt)}`;
  return [
    html`Created
    ${timeOf(createdAt)}${ip === null ? "" : ` from ${ip}`}${madeBy === null ? "" : ` by ${makerOf(madeBy)}`}`,
    html`${use}, ${end}`,
    ...(key.kind === "SESSION" ? [signInOf(key)].filter((line) => line !== undefined) : []),
    ...(key.kind === "TOKEN" ? [scopes.includes("all") ? "All scopes" : `Scopes: ${scopes.join(", ")}`] : []),
  ];
};

const factors: Record<string, string> = {
  PASSWORD: "Signed in with the password",
  AUTHENTICATOR: "Signed in with the password and the authenticator",
  RECOVERY_CODE: "Signed in with the password and a recovery code",
  PASSKEY: "Signed in with a passkey",
};

/** How the user of a session signed in, as far as that is known. */
function signInOf({ factor, provider }: Key): string | undefined {
  if (provider === null) return factor === null ? undefined : factors[factor];
  return `Signed in through ${provider}${factor === "PROVIDER" ? ", with a second factor there" : ""}`;
}

const actionForm = (visit: Visit, action: string, fields: Html): Html =>
  sessionForm(visit, path, html`<input type="hidden" name="action" value="${action}" />${fields}`);

/** Characters of a user agent that are shown. */
const longest = 40;

const browsers: ReadonlyArray<[name: string, pattern: RegExp]> = [
  ["Edge", /\bEdg(e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /(Chrome|Chromium|CriOS)\//],
  ["Safari", /\bSafari\//],
];

const systems: ReadonlyArray<[name: string, pattern: RegExp]> = [
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /Linux/],
];

/** The program behind a User-Agent header, as far as it can be recognized: `Firefox on Linux`, or `curl`. */
function programOf(userAgent: string | null): string {
  const find = (names: typeof browsers) => names.find(([, pattern]) => pattern.test(userAgent ?? ""))?.[0];
  const browser = find(browsers);
  const system = find(systems);
  if (browser) return system ? `${browser} on ${system}` : browser;
  return /^[\w.-]+/.exec(userAgent ?? "")?.[0].slice(0, longest) ?? "Unknown program";
}
