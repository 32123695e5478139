import type { KeptCredentials } from "../../domain/sign-in/kept-credentials.js";
import { asksForCode } from "../../graphql/engine/errors.js";
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
  const delivery = operation("PasscodeDelivery");

  async function formPage(visit: Visit, returnTo: string, email = "", rejection?: Rejection): Promise<StatusPage> {
    const { passwordAuth } = visit.services.config;
    return {
      status: rejection?.status,
      title: "Sign in",
      main: html`${passwordAuth ? await passwordForm(visit, returnTo, email, rejection) : undefined}
      ${otherWays(visit, returnTo)}`,
    };
  }

  async function passwordForm(visit: Visit, returnTo: string, email: string, rejection?: Rejection): Promise<Html> {
    const { serverInfo } = await perform<{ serverInfo: { sendsPasscodes: boolean } }>(delivery, visit.anonymous());
    const forgotten = html`<p class="aside">
      <a href="${withReturnTo(forgottenPath, returnTo)}">Forgot your password?</a>
    </p>`;
    const fields = html`${fieldsOf(credentials(email), rejection)}<button>Sign in</button>`;
    return html`${await forms.form(visit, path, returnTo, fields)} ${serverInfo.sendsPasscodes ? forgotten : undefined}`;
  }

  /** The page after the right password of an account with a second factor. */
  async function codePage(
    visit: Visit,
    returnTo: string,
    { email, password }: LoginInput,
    rejection?: Rejection,
  ): Promise<StatusPage> {
    const kept = keptCredentials.seal(await forms.browserOf(visit), { email, password });
    const fields = html`<input type="hidden" name="kept" value="${kept}" /> ${fieldsOf(codeFields, rejection)}<button>
        Sign in
      </button>`;
    return {
      status: rejection?.status,
      title: "Enter your code",
      main: html`${await forms.form(visit, path, returnTo, fields)}
        <p class="faint">
          Without your authenticator, enter one of your recovery codes. If you have lost both, ask an administrator.
        </p>
        <p class="aside"><a href="${withReturnTo(path, returnTo)}">Sign in as another user</a></p>`,
    };
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
      let input: LoginInput = { email, password: visit.form.get("password") ?? "" };
      try {
        await forms.requireOwn(visit);
        const kept = visit.form.get("kept");
        if (kept !== null) {
          const credentials = keptCredentials.open(await forms.browserOf(visit), kept);
          if (!credentials) return await formPage(visit, returnTo, "", tookTooLong);
          input = { ...credentials, oneTimeCode: visit.form.get("oneTimeCode") ?? "" };
        }
        const { login } = await perform<{ login: NewSession }>(signIn, visit.anonymous(), { input });
        visit.beginSession(login.sessionToken);
        if (login.user.mustChangePassword) return { goTo: withReturnTo(passwordPath, returnTo) };
        return goOn(visit, returnTo);
      } catch (error) {
        const rejection = rejectionOf(visit, error);
        const { oneTimeCode } = input;
        // Any failure with a code, such as too many wrong ones, is shown where the next one is entered.
        if (oneTimeCode !== undefined) return codePage(visit, returnTo, input, rejection);
        if (asksForCode(error)) return codePage(visit, returnTo, input);
        return formPage(visit, returnTo, email, rejection);
      }
    },
  };
}

interface LoginInput {
  email: string;
  password: string;
  oneTimeCode?: string;
}

const tookTooLong: Rejection = { status: 400, message: "That took too long. Sign in again.", faults: {} };

const codeFields: readonly Field[] = [
  {
    name: "oneTimeCode",
    label: "Code of your authenticator",
    type: "text",
    autocomplete: "one-time-code",
    isCode: true,
  },
];

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
