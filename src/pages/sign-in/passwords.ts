import type { Context } from "../../domain/kernel/context.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { accountPage, listOf, timeOf } from "../account.js";
import { type Field, fieldsOf, type Rejection, rejectionOf, sessionForm } from "../forms.js";
import { type Html, html } from "../html.js";
import { notice } from "../layout.js";
import { type PageHandler, passwordPath, perform, signedIn, type StatusPage, type Visit } from "../visit.js";
import { goOn } from "./login.js";
import { returnToOf } from "./visitor-forms.js";

interface Owner {
  email: string;
  loginType: string;
}

/** An identity at a provider. */
interface Identity {
  issuer: string;
  subject: string;
  createdAt: string;
}

/** The page on which users change their password. */
export function passwordPages(operation: (name: string) => StoredOperation): {
  show: PageHandler;
  submit: PageHandler;
  find: PageHandler;
} {
  const owner = operation("PasswordOwner");
  const change = operation("ChangePassword");

  async function pageOf(
    visit: Visit,
    ctx: Context,
    { top, rejection }: { top?: Html; rejection?: Rejection } = {},
  ): Promise<StatusPage> {
    if (mustChange(ctx)) return firstPage(visit, rejection);
    const { me, userIdentities } = await perform<{ me: Owner; userIdentities: Identity[] }>(owner, ctx.afresh());
    const main = me.loginType === "PASSWORD" ? changeForm(visit, me, rejection) : withoutPassword(userIdentities);
    return accountPage(visit, { status: rejection?.status, title: "Password", main: html`${top} ${main}` });
  }

  return {
    show: signedIn((visit, ctx) => pageOf(visit, ctx)),

    submit: signedIn(async (visit, ctx) => {
      const [currentPassword, newPassword, repeated] = ["currentPassword", "newPassword", "repeated"].map(
        (name) => visit.form.get(name) ?? "",
      );
      if (repeated !== newPassword) return pageOf(visit, ctx, { rejection: mistyped });
      try {
        const isFirst = mustChange(ctx);
        await perform(change, ctx, { input: { currentPassword, newPassword } });
        if (isFirst) return goOn(visit, returnToOf(visit));
        return await pageOf(visit, ctx, { top: changed });
      } catch (error) {
        return pageOf(visit, ctx, { rejection: rejectionOf(visit, error) });
      }
    }),

    find: async () => ({ goTo: passwordPath }),
  };
}

/** Whether the user can do nothing else before: then the page reads nothing of the account. */
const mustChange = ({ actor }: Context): boolean => actor.kind === "user" && actor.mustChangePassword;

/** The page of users who must change their password first. */
const firstPage = (visit: Visit, rejection?: Rejection): StatusPage => ({
  status: rejection?.status,
  title: "Change your password",
  main: html`<p>An administrator has set your password. Choose one that only you know, and you can go on.</p>
    ${sessionForm(
      visit,
      passwordPath,
      html`<input type="hidden" name="return_to" value="${returnToOf(visit)}" /> ${fieldsOf(fields, rejection)}<button>
          Change password
        </button>`,
    )}
    ${sessionForm(visit, "/logout", html`<button class="quiet">Sign out</button>`)}`,
});

/** The only rule of the form itself: without a script, the password cannot be shown while it is typed. */
const mistyped: Rejection = { status: 400, faults: { repeated: "Differs from the new password." } };

const changed = notice("Your password is changed. Your other sessions have ended.");

const withoutPassword = (identities: readonly Identity[]): Html =>
  html`<p>You sign in through a provider, and have no password here.</p>
    ${
      identities.length > 0
        ? html`<h2>Your identity there</h2>
            ${listOf(
              identities.map(({ issuer, subject, createdAt }) => ({
                title: subject,
                lines: [issuer, html`Linked ${timeOf(createdAt)}`],
                actions: undefined,
              })),
            )}
            <p class="faint">If it is not yours, ask an administrator to unlink it.</p>`
        : undefined
    }`;

const fields: readonly Field[] = [
  { name: "currentPassword", label: "Current password", type: "password", autocomplete: "current-password" },
  {
    name: "newPassword",
    label: "New password",
    type: "password",
    autocomplete: "new-password",
    hint: "A long one that is hard to guess, such as several unrelated words.",
  },
  { name: "repeated", label: "New password again", type: "password", autocomplete: "new-password" },
];

/** The email is for password managers, which store it with the new password. */
const changeForm = (visit: Visit, { email }: Owner, rejection?: Rejection): Html =>
  html`${sessionForm(
      visit,
      passwordPath,
      html`<input type="email" name="email" value="${email}" autocomplete="username" readonly hidden />
        ${fieldsOf(fields, rejection)}<button>Change password</button>`,
    )}
    <p class="faint">
      Your other sessions end, and this one continues. API tokens and applications keep their access:
      <a href="/account/keys">revoke</a> those that you do not trust.
    </p>`;
