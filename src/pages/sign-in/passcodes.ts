import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { type Field, fieldsOf, type Rejection, rejectionOf } from "../forms.js";
import { type Html, html } from "../html.js";
import { notice } from "../layout.js";
import { type PageHandler, perform, type StatusPage, type Visit, withReturnTo } from "../visit.js";
import { returnToOf, type VisitorForms } from "./visitor-forms.js";

/** Where visitors who forgot their password request a passcode. */
export const forgottenPath = "/login/forgot-password";

/** Where they choose a new password with it. The mail links to this page. */
export const newPasswordPath = "/login/reset-password";

/** The pages on which visitors request a passcode by email, and change their password with it. */
export function passcodePages(
  forms: VisitorForms,
  operation: (name: string) => StoredOperation,
): Record<"ask" | "send" | "choose" | "change", PageHandler> {
  const delivery = operation("PasscodeDelivery");
  const request = operation("RequestPasscode");
  const change = operation("ChangePasswordWithPasscode");

  async function requestPage(visit: Visit, email = "", rejection?: Rejection): Promise<StatusPage> {
    const returnTo = returnToOf(visit);
    const fields = html`${fieldsOf([emailField(email)], rejection)}<button>Send a passcode</button>`;
    return {
      status: rejection?.status,
      title: "Forgot your password?",
      main: html`<p>Enter your email address. You get a passcode, with which you choose a new password.</p>
        ${await forms.form(visit, forgottenPath, returnTo, fields)}
        <p class="aside"><a href="${withReturnTo(newPasswordPath, returnTo)}">I have a passcode</a></p>
        ${backToSignIn(returnTo)}`,
    };
  }

  async function newPasswordPage(
    visit: Visit,
    { email = "", top, rejection }: { email?: string; top?: Html; rejection?: Rejection } = {},
  ): Promise<StatusPage> {
    const returnTo = returnToOf(visit);
    const fields = html`${fieldsOf(newPasswordFields(email), rejection)}<button>Change password</button>`;
    return {
      status: rejection?.status,
      title: "Choose a new password",
      main: html`${top} ${await forms.form(visit, newPasswordPath, returnTo, fields)}
        <p class="faint">All your sessions and tokens end when the password changes.</p>
        <p class="aside"><a href="${withReturnTo(forgottenPath, returnTo)}">Request another passcode</a></p>
        ${backToSignIn(returnTo)}`,
    };
  }

  return {
    async ask(visit) {
      const { serverInfo } = await perform<{ serverInfo: { sendsPasscodes: boolean } }>(delivery, visit.anonymous());
      return serverInfo.sendsPasscodes ? requestPage(visit) : undeliverable(returnToOf(visit));
    },

    async send(visit) {
      const email = visit.form.get("email") ?? "";
      try {
        await forms.requireOwn(visit);
        await perform(request, visit.anonymous(), { input: { email } });
        return newPasswordPage(visit, { email, top: renderSent(visit, email) });
      } catch (error) {
        return requestPage(visit, email, rejectionOf(visit, error));
      }
    },

    choose: (visit) => newPasswordPage(visit),

    async change(visit) {
      const [email, oneTimePasscode, password] = ["email", "oneTimePasscode", "password"].map(
        (name) => visit.form.get(name) ?? "",
      );
      try {
        await forms.requireOwn(visit);
        await perform(change, visit.anonymous(), { input: { email, oneTimePasscode, password } });
        return { goTo: withReturnTo("/login?password_changed", returnToOf(visit)) };
      } catch (error) {
        return newPasswordPage(visit, { email, rejection: rejectionOf(visit, error) });
      }
    },
  };
}

const emailField = (email: string): Field => ({
  name: "email",
  label: "Email",
  type: "email",
  autocomplete: "username",
  value: email,
});

const newPasswordFields = (email: string): Field[] => [
  emailField(email),
  { name: "oneTimePasscode", label: "Passcode", type: "text", autocomplete: "one-time-code", isCode: true },
  { name: "password", label: "New password", type: "password", autocomplete: "new-password" },
];

/** The same for every address, whether it has an account or not. */
const renderSent = ({ services }: Visit, email: string): Html =>
  notice(
    `If an account with a password has the address ${email}, a passcode is on its way. It works for ${Math.round(
      services.config.passcodeLifetime / 60_000,
    )} minutes.`,
  );

const backToSignIn = (returnTo: string): Html =>
  html`<p class="aside"><a href="${withReturnTo("/login", returnTo)}">Back to sign-in</a></p>`;

const undeliverable = (returnTo: string): StatusPage => ({
  title: "Forgot your password?",
  main: html`<p>This server cannot send passcodes. Ask an administrator to reset your password.</p>
    ${backToSignIn(returnTo)}`,
});
