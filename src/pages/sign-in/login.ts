import { day } from "../../runtime/durations.js";
import { cookieOf, setCookie } from "../../http/cookies.js";
import { DomainError } from "../../domain/kernel/errors.js";
import type { KeptCredentials } from "../../domain/sign-in/kept-credentials.js";
import { factorsAskedBy } from "../../graphql/engine/errors.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { type Field, fieldsOf, type Rejection, rejectionOf } from "../forms.js";
import { type Html, html, type Part } from "../html.js";
import { notice } from "../layout.js";
import {
  type Outcome,
  type PageHandler,
  passwordPath,
  perform,
  type StatusPage,
  type Visit,
  withReturnTo,
} from "../visit.js";
import { forgottenPath } from "./passcodes.js";
import { passkeyFields, passkeyFormMarks, passkeyScriptPath } from "./passkeys.js";
import { returnToOf, type VisitorForms } from "./visitor-forms.js";

const path = "/login";

/** The notice above the form, by the parameter of the redirect that led to the page; providers return it as the state. */
const news: Record<string, string> = {
  signed_out: "You are signed out.",
  password_changed: "Your password is changed. Sign in with it.",
};

/** The sign-in page, with a password form and links to the providers. */
export function loginPages(
  forms: VisitorForms,
  keptCredentials: KeptCredentials,
  operation: (name: string) => StoredOperation,
): { show: PageHandler; submit: PageHandler } {
  const signedIn = operation("SignedIn");
  const signIn = operation("SignIn");
  const beginPasskey = operation("BeginPasskeySignIn");
  const signInWithPasskey = operation("SignInWithPasskey");
  const remember = operation("RememberDevice");
  const delivery = operation("PasscodeDelivery");

  async function formPage(visit: Visit, returnTo: string, email = "", rejection?: Rejection): Promise<StatusPage> {
    const { passwordAuth } = visit.services.config;
    const { serverInfo } = await perform<{ serverInfo: Offered }>(delivery, visit.anonymous());
    const { takesPasskeys } = serverInfo;
    return {
      status: rejection?.status,
      title: "Sign in",
      ...(takesPasskeys && { script: passkeyScriptPath }),
      main: html`${passwordAuth ? await passwordForm(visit, returnTo, email, serverInfo, rejection) : undefined}
      ${takesPasskeys ? await passkeyForm(visit, returnTo) : undefined} ${otherWays(visit, returnTo)}`,
    };
  }

  /** The form of a sign-in without a password, which the script of the page shows. */
  const passkeyForm = (visit: Visit, returnTo: string): Promise<Html> =>
    forms.form(visit, path, returnTo, passkeyFields("Sign in with a passkey", "quiet"), passkeyFormMarks("ask"));

  async function passwordForm(
    visit: Visit,
    returnTo: string,
    email: string,
    { sendsPasscodes }: Offered,
    rejection?: Rejection,
  ): Promise<Html> {
    const forgotten = html`<p class="aside">
      <a href="${withReturnTo(forgottenPath, returnTo)}">Forgot your password?</a>
    </p>`;
    const fields = html`${fieldsOf(credentials(email), rejection)}<button>Sign in</button>`;
    return html`${await forms.form(visit, path, returnTo, fields)} ${sendsPasscodes ? forgotten : undefined}`;
  }

  /** The page after the right password of an account with a second factor. */
  async function codePage(
    visit: Visit,
    returnTo: string,
    { email, password }: LoginInput,
    ways: readonly string[],
    rejection?: Rejection,
  ): Promise<StatusPage> {
    const kept = keptCredentials.seal(await forms.browserOf(visit), { email, password });
    const hasPasskey = ways.includes("passkey");
    const keptField = html`<input type="hidden" name="kept" value="${kept}" />${
        hasPasskey ? html`<input type="hidden" name="has_passkey" value="yes" />` : undefined
      }`;
    const rememberField = rememberingField(visit);
    const fields = html`${keptField} ${fieldsOf([codeField(hasPasskey)], rejection)}${rememberField}<button>
        Sign in
      </button>`;
    const passkey = hasPasskey ? await passkeyOptions(visit, { email, password }) : undefined;
    const passkeyPart =
      passkey && html`${keptField} <input type="hidden" name="remember" /> ${passkeyFields("Use a passkey", "quiet")}`;
    return {
      status: rejection?.status,
      title: "Enter your code",
      ...(passkey && { script: passkeyScriptPath }),
      main: html`${await forms.form(visit, path, returnTo, fields)}
        ${passkeyPart && (await forms.form(visit, path, returnTo, passkeyPart, passkeyFormMarks("use", passkey)))}
        <p class="faint">
          ${hasPasskey ? "Without your factors" : "Without your authenticator"}, enter one of your recovery codes. If
          you have lost ${hasPasskey ? "them, too" : "both"}, ask an administrator.
        </p>
        <p class="aside"><a href="${withReturnTo(path, returnTo)}">Sign in as another user</a></p>`,
    };
  }

  /** The options for a passkey of the account; `undefined` if they cannot be had, as for too many requests. */
  async function passkeyOptions(visit: Visit, input: LoginInput): Promise<object | undefined> {
    type Begun = { beginPasskeyLogin: { options: object } };
    try {
      return (await perform<Begun>(beginPasskey, visit.anonymous(), { input })).beginPasskeyLogin.options;
    } catch (error) {
      if (error instanceof DomainError) return undefined;
      throw error;
    }
  }

  /** Signs in with what the form has. */
  async function sessionOf(visit: Visit, input: LoginInput | undefined): Promise<NewSession> {
    const passkey = visit.form.get("passkey") ?? undefined;
    if (input) {
      const deviceToken = cookieOf(visit.http.req, deviceCookie);
      const given = {
        ...input,
        addsFactor: true,
        ...(passkey !== undefined && { passkey }),
        ...(deviceToken && { deviceToken }),
      };
      return (await perform<{ login: NewSession }>(signIn, visit.anonymous(), { input: given })).login;
    }
    type Signed = { loginWithPasskey: NewSession };
    return (await perform<Signed>(signInWithPasskey, visit.anonymous(), { input: { passkey } })).loginWithPasskey;
  }

  /** Has this browser remembered for the user of a new session. The sign-in goes on if it cannot be. */
  async function rememberBrowser(visit: Visit, sessionToken: string): Promise<void> {
    type Remembered = { rememberDevice: { deviceToken: string } };
    try {
      const { rememberDevice } = await perform<Remembered>(remember, await visit.begun(sessionToken));
      const maxAge = Math.floor(visit.services.config.rememberedDevices / 1000);
      setCookie(visit.http, deviceCookie, rememberDevice.deviceToken, { ...visit.cookies, path, maxAge });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  return {
    async show(visit) {
      const returnTo = returnToOf(visit);
      const page = await formPage(visit, returnTo);
      const ctx = await visit.context();
      if (ctx.actor.kind !== "user") {
        const [, message] =
          Object.entries(news).find(
            ([parameter]) => visit.query.has(parameter) || visit.query.get("state") === parameter,
          ) ?? [];
        return message === undefined ? page : { ...page, main: html`${notice(message)}${page.main}` };
      }
      const { me } = await perform<{ me: { username: string } }>(signedIn, ctx);
      return { ...page, main: html`${alreadySignedIn(me.username, returnTo)}${page.main}` };
    },

    async submit(visit) {
      const returnTo = returnToOf(visit);
      const email = visit.form.get("email") ?? "";
      const isAlone = visit.form.has("passkey") && !visit.form.has("kept");
      let input: LoginInput | undefined = isAlone ? undefined : { email, password: visit.form.get("password") ?? "" };
      let isCompleting = false;
      try {
        await forms.requireOwn(visit);
        const kept = visit.form.get("kept");
        if (kept !== null) {
          const credentials = keptCredentials.open(await forms.browserOf(visit), kept);
          if (!credentials) return await formPage(visit, returnTo, "", tookTooLong);
          isCompleting = true;
          input = visit.form.has("passkey")
            ? credentials
            : { ...credentials, oneTimeCode: visit.form.get("oneTimeCode") ?? "" };
        }
        const { sessionToken, user } = await sessionOf(visit, input);
        visit.beginSession(sessionToken);
        if (visit.form.get("remember") === "yes") await rememberBrowser(visit, sessionToken);
        if (user.mustChangePassword) return { goTo: withReturnTo(passwordPath, returnTo) };
        return goOn(visit, returnTo);
      } catch (error) {
        const rejection = rejectionOf(visit, error);
        const ways = factorsAskedBy(error);
        // Any failure with a factor, such as too many wrong ones, is shown where the next one is entered.
        if (input && isCompleting)
          return codePage(
            visit,
            returnTo,
            input,
            visit.form.has("has_passkey") ? ["passkey"] : [],
            aboutPasskey(rejection),
          );
        if (input && ways) return codePage(visit, returnTo, input, ways);
        return formPage(visit, returnTo, email, aboutPasskey(rejection));
      }
    },
  };
}

/** The offers of the deployment beside the password. */
interface Offered {
  sendsPasscodes: boolean;
  takesPasskeys: boolean;
}

interface LoginInput {
  email: string;
  password: string;
  oneTimeCode?: string;
}

/** The secret of a browser that is remembered. */
const deviceCookie = "service_remembered_device";

/** Offers to remember the browser, where the deployment does. */
function rememberingField({ services: { config } }: Visit): Html | undefined {
  const days = Math.round(config.rememberedDevices / day);
  if (config.rememberedDevices === 0) return undefined;
  const time = days > 1 ? `for ${days} days` : days === 1 ? "for a day" : "for some hours";
  return html`<label class="check"
    ><input type="checkbox" name="remember" value="yes" />In this browser, do not ask again ${time}</label
  >`;
}

/** A fault of a passkey concerns no field that is shown. */
const aboutPasskey = ({ faults: { passkey, ...faults }, ...rest }: Rejection): Rejection =>
  passkey === undefined
    ? { ...rest, faults }
    : { ...rest, faults, message: "This passkey was not accepted. Try again." };

const tookTooLong: Rejection = { status: 400, message: "That took too long. Sign in again.", faults: {} };

const codeField = (hasPasskey: boolean): Field => ({
  name: "oneTimeCode",
  label: hasPasskey ? "Code of your authenticator, or a recovery code" : "Code of your authenticator",
  type: "text",
  autocomplete: "one-time-code",
  isCode: true,
});

interface NewSession {
  sessionToken: string;
  user: { mustChangePassword: boolean };
}

const credentials = (email: string): Field[] => [
  { name: "email", label: "Email", type: "email", autocomplete: "username", value: email },
  { name: "password", label: "Password", type: "password", autocomplete: "current-password" },
];

/** The paths that redirect to other servers: to providers, and to applications, of which some requests are rejected. */
const leadsAway = /^\/(login\/|oauth2\/authorize(\?|$))/;

/** Leads a visitor who has sent a form to another path. */
export const goOn = (visit: Visit, to: string): Outcome =>
  leadsAway.test(to) ? onward(visit, to, "You are signed in") : { goTo: to };

/**
 * Goes on by a page with a `Refresh` header. Browsers apply `form-action` of the form's page to redirects after it,
 * which would block other servers.
 */
export function onward({ http }: Visit, to: string, title: string): Outcome {
  http.set("Refresh", `0;url=${to}`);
  return { title, main: html`<a class="button" href="${to}">Continue</a>` };
}

const alreadySignedIn = (username: string, returnTo: string): Html =>
  html`<p>
    You are signed in as <strong>${username}</strong>. <a href="${returnTo}">Continue</a>, or sign in as another user:
  </p>`;

function otherWays({ services: { identityProviders, config } }: Visit, returnTo: string): Part {
  const links = identityProviders.active.map(
    ({ settings: { name, icon }, label }) =>
      html`<a class="button provider" href="${withReturnTo(`/login/${name}`, returnTo)}"
        >${icon === "" ? undefined : html`<img src="${icon}" alt="" width="20" height="20" />`}Sign in with ${label}</a
      >`,
  );
  if (!config.passwordAuth) {
    return links.length > 0 ? links : html`<p>No way to sign in is configured.</p>`;
  }
  return links.length > 0 ? [html`<p class="or">or</p>`, links] : undefined;
}
