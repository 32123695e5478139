import type { BrowserLinks } from "../../domain/external-auth/browser-flow.js";
import type { Context } from "../../domain/kernel/context.js";
import type { DomainError } from "../../domain/kernel/errors.js";
import { translate } from "../../graphql/engine/errors.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { clearCookie, cookieOf, setCookie } from "../../http/cookies.js";
import { routeNotFound, TransportError } from "../../http/errors.js";
import { accountPage } from "../account.js";
import { sessionForm } from "../forms.js";
import { type Html, html } from "../html.js";
import { alarm, notice } from "../layout.js";
import { type Outcome, ownPath, type PageHandler, perform, signedIn, type StatusPage, type Visit } from "../visit.js";

/** A provider, and whether the user has linked an account. */
export interface Provider {
  id: string;
  displayName: string;
  browser: boolean;
  device: boolean;
  link: { createdAt: string } | null;
}

/** The state of the linked account. */
interface State {
  authenticated: boolean;
  appInstallUrl: string;
  link: { validateError: string | null } | null;
  user: { login: string; name: string } | null;
}

/** A device code that the user has to confirm. */
interface Device {
  userCode: string;
  verificationUri: string | null;
}

/** The page on which users link, look at, and unlink an account, and the redirect to the provider and back. */
export function externalAuthPages(
  links: BrowserLinks,
  operation: (name: string) => StoredOperation,
): { show: PageHandler; submit: PageHandler; callback: PageHandler } {
  async function pageOf(visit: Visit, ctx: Context, parts: { top?: Html; device?: Device } = {}): Promise<StatusPage> {
    const id = idOf(visit);
    const { externalAuthProviders } = await perform<{ externalAuthProviders: Provider[] }>(
      operation("ExternalAuthProviders"),
      ctx.afresh(),
    );
    const provider = externalAuthProviders.find((each) => each.id.toLowerCase() === id.toLowerCase());
    if (!provider) throw routeNotFound();
    const state = await stateOf(ctx, id);
    return accountPage(visit, { title: provider.displayName, main: content(visit, provider, state, parts) });
  }

  /** Returns the failure of the provider in place of the state: the user can still unlink the account. */
  async function stateOf(ctx: Context, id: string): Promise<State | DomainError> {
    try {
      const { externalAuth } = await perform<{ externalAuth: State }>(operation("ExternalAuthState"), ctx.afresh(), {
        id,
      });
      return externalAuth;
    } catch (error) {
      const failure = translate(error);
      if (failure.details.upstream) return failure;
      throw error;
    }
  }

  const actions: Record<string, (visit: Visit, ctx: Context) => Promise<Outcome>> = {
    async disconnect(visit, ctx) {
      const { deleteExternalAuth } = await perform<{ deleteExternalAuth: { tokenRevocationError: string | null } }>(
        operation("Disconnect"),
        ctx,
        { id: idOf(visit) },
      );
      const { tokenRevocationError: problem } = deleteExternalAuth;
      const top = problem
        ? alarm(`The account is disconnected, but its token was not revoked. ${problem}`)
        : disconnected;
      return pageOf(visit, ctx, { top });
    },

    async device(visit, ctx) {
      const { startExternalAuthDevice } = await perform<{ startExternalAuthDevice: { device: Device } }>(
        operation("StartDevice"),
        ctx,
        { id: idOf(visit) },
      );
      return pageOf(visit, ctx, { device: startExternalAuthDevice.device });
    },

    async check(visit, ctx) {
      const device = {
        userCode: fieldOf(visit, "user_code"),
        verificationUri: webUrl(fieldOf(visit, "verification_uri")),
      };
      try {
        await perform(operation("CompleteDevice"), ctx, { id: idOf(visit) });
        return { goTo: `${pathOf(idOf(visit))}?redirected=true` };
      } catch (error) {
        const failure = translate(error);
        const { reason } = failure.details;
        if (reason === undefined) throw error;
        const isPending = reason === "authorization_pending" || reason === "slow_down";
        return pageOf(visit, ctx, { top: alarm(failure.message), ...(isPending && { device }) });
      }
    },
  };

  return {
    show: signedIn((visit, ctx) => pageOf(visit, ctx)),

    submit: signedIn(async (visit, ctx) => {
      const action = fieldOf(visit, "action");
      if (!Object.hasOwn(actions, action)) throw new TransportError(400, "Validation failed.", "The form is unknown.");
      return actions[action]!(visit, ctx);
    }),

    callback: signedIn(async (visit, ctx) => {
      const { query } = visit;
      if (!query.has("code") && !query.has("error")) {
        const begun = await links.begin(ctx, idOf(visit), returnPath(query.get("redirect")));
        setCookie(visit.http, ...cookieFor(visit, begun.providerId, begun.browserSecret, begun.maxAge));
        return { goTo: begun.location };
      }
      const callback = {
        code: query.get("code"),
        error: query.get("error"),
        errorDescription: query.get("error_description"),
        state: query.get("state"),
        issuer: query.get("iss"),
      };
      const secret = cookieOf(visit.http.req, cookieName(idOf(visit)));
      const { providerId, returnPath: back } = await links.finish(ctx, idOf(visit), callback, secret);
      clearCookie(visit.http, cookieName(providerId), { ...visit.cookies, path: pathOf(providerId) });
      return { goTo: back || `${pathOf(providerId)}?redirected=true` };
    }),
  };
}

const idOf = ({ http }: Visit): string => http.params.id ?? "";

export const pathOf = (id: string): string => `/external-auth/${encodeURIComponent(id)}`;

/** Cookie names are compared with the letter case; ids of providers are not. */
const cookieName = (id: string): string => `steward_external_auth_${encodeURIComponent(id)}`;

const cookieFor = (visit: Visit, id: string, value: string, maxAge: number) =>
  [cookieName(id), value, { ...visit.cookies, path: pathOf(id), maxAge }] as const;

/** The path to return to; empty for the default, which stands for paths of other hosts as well. */
function returnPath(wanted: string | null): string {
  const path = ownPath(wanted);
  return wanted === null || (path === "/" && wanted !== "/") ? "" : path;
}

/** The longest text that a form may carry. */
const longest = 2048;

const fieldOf = ({ form }: Visit, name: string): string => (form.get(name) ?? "").slice(0, longest);

const webUrl = (text: string): string | null => (/^https?:\/\//i.test(text) && URL.canParse(text) ? text : null);

const connected = notice("The account is connected.");
const disconnected = notice("The account is disconnected.");

function content(
  visit: Visit,
  provider: Provider,
  state: State | DomainError,
  { top, device }: { top?: Html; device?: Device },
): Html {
  const isFailed = state instanceof Error;
  const installUrl = isFailed ? "" : state.appInstallUrl;
  const isConnected = visit.query.has("redirected") && provider.link !== null;
  return html`${isConnected ? connected : top}
  ${isFailed ? alarm(`${state.message} ${state.details.detail ?? ""}`) : description(provider, state)}
  ${device ? deviceForm(visit, provider, device) : connectLinks(visit, provider)}
  ${installUrl ? html`<a class="button" href="${installUrl}">Install</a>` : undefined}
  ${provider.link ? actionForm(visit, provider, "disconnect", html`<button class="quiet">Disconnect</button>`) : undefined}`;
}

function description({ displayName, link }: Provider, { authenticated, user, link: checked }: State): Html {
  if (!link) return html`<p>You have not connected an account at ${displayName}.</p>`;
  const problem = alarm(checked?.validateError ?? undefined);
  if (!authenticated)
    return html`${problem}
      <p>The connection no longer works. Connect the account again.</p>`;
  return html`${problem}
    <p>You are connected${user ? html` as <strong>${user.login}</strong>` : undefined}.</p>`;
}

const connectLinks = (visit: Visit, provider: Provider): Html => {
  const label = provider.link ? "Connect again" : "Connect";
  if (!provider.browser) return actionForm(visit, provider, "device", html`<button>${label}</button>`);
  return html`<a class="button" href="${pathOf(provider.id)}/callback">${label}</a>
    ${provider.device ? actionForm(visit, provider, "device", html`<button class="quiet">Use a device code</button>`) : undefined}`;
};

const deviceForm = (visit: Visit, provider: Provider, { userCode, verificationUri }: Device): Html =>
  html`<p>Enter this code at ${provider.displayName}, then check:</p>
    <p><code>${userCode}</code></p>
    ${verificationUri ? html`<p><a href="${verificationUri}" rel="noreferrer">${verificationUri}</a></p>` : undefined}
    ${actionForm(
      visit,
      provider,
      "check",
      html`<input type="hidden" name="user_code" value="${userCode}" />
        <input type="hidden" name="verification_uri" value="${verificationUri ?? ""}" />
        <button>Check</button>`,
    )}`;

/** The form of an action on the account at a provider. */
export const actionForm = (visit: Visit, { id }: Provider, action: string, fields: Html): Html =>
  sessionForm(visit, pathOf(id), html`<input type="hidden" name="action" value="${action}" />${fields}`);
