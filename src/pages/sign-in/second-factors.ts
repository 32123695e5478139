import { renderSVG } from "uqr";
import type { Context } from "../../domain/kernel/context.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { TransportError } from "../../http/errors.js";
import { accountPage, timeOf } from "../account.js";
import { type Field, fieldsOf, type Rejection, rejectionOf, sessionForm } from "../forms.js";
import { type Html, html, type Part } from "../html.js";
import { notice } from "../layout.js";
import { type PageHandler, perform, secondFactorPath, signedIn, type StatusPage, type Visit } from "../visit.js";
import { returnToOf } from "./visitor-forms.js";

interface Own {
  me: { loginType: string };
  secondFactors: { authenticatorConfirmedAt: string | null; recoveryCodesLeft: number };
}

/** The forms of the page. */
type Action = "begin" | "replace" | "confirm" | "codes" | "remove";

interface Shown {
  rejection?: Rejection;
  top?: Html;
  /** The URI of the authenticator to confirm. */
  uri?: string;
}

/** The page on which users add an authenticator, and look after it. */
export function secondFactorPages(operation: (name: string) => StoredOperation): {
  show: PageHandler;
  submit: PageHandler;
} {
  const read = operation("OwnSecondFactors");
  const begin = operation("BeginAuthenticator");
  const confirm = operation("ConfirmAuthenticator");
  const regenerate = operation("RegenerateRecoveryCodes");
  const remove = operation("RemoveAuthenticator");

  async function pageOf(visit: Visit, ctx: Context, action: string | null, shown: Shown = {}): Promise<StatusPage> {
    if (mustAdd(ctx)) return firstPage(visit, shown);
    const { me, secondFactors } = await perform<Own>(read, ctx.afresh());
    const { authenticatorConfirmedAt: since, recoveryCodesLeft } = secondFactors;
    const main =
      me.loginType !== "PASSWORD"
        ? html`<p>You sign in through a provider, which asks for further factors by itself.</p>`
        : shown.uri !== undefined
          ? confirmForm(visit, shown.uri, shown)
          : since === null
            ? beginForm(visit, shown)
            : action !== null && Object.hasOwn(changes, action)
              ? changeForm(visit, action as keyof typeof changes, shown)
              : overview(since, recoveryCodesLeft);
    const { rejection, top } = shown;
    return accountPage(visit, { status: rejection?.status, title: "Second factor", main: html`${top} ${main}` });
  }

  const actions: Record<Action, (visit: Visit, ctx: Context) => Promise<StatusPage>> = {
    begin: (visit, ctx) => actions.replace(visit, ctx),

    async replace(visit, ctx) {
      const oneTimeCode = visit.form.get("oneTimeCode");
      const input = { password: visit.form.get("password") ?? "", ...(oneTimeCode !== null && { oneTimeCode }) };
      const { beginAuthenticator } = await perform<{ beginAuthenticator: { uri: string } }>(begin, ctx, { input });
      return pageOf(visit, ctx, null, { uri: beginAuthenticator.uri });
    },

    async confirm(visit, ctx) {
      type Confirmed = { confirmAuthenticator: { recoveryCodes: string[] } };
      const { confirmAuthenticator } = await perform<Confirmed>(confirm, ctx, inputOf(visit));
      return codesPage(visit, "Your authenticator is added.", confirmAuthenticator.recoveryCodes, mustAdd(ctx));
    },

    async codes(visit, ctx) {
      type Made = { regenerateRecoveryCodes: { recoveryCodes: string[] } };
      const { regenerateRecoveryCodes } = await perform<Made>(regenerate, ctx, inputOf(visit));
      return codesPage(
        visit,
        "Your former recovery codes do not work any more.",
        regenerateRecoveryCodes.recoveryCodes,
      );
    },

    async remove(visit, ctx) {
      await perform(remove, ctx, inputOf(visit));
      return pageOf(visit, ctx, null, { top: notice("Your authenticator is removed.") });
    },
  };

  return {
    show: signedIn((visit, ctx) => pageOf(visit, ctx, visit.query.get("change"))),

    submit: signedIn(async (visit, ctx) => {
      const action = visit.form.get("action") ?? "";
      if (!Object.hasOwn(actions, action)) throw new TransportError(400, "Validation failed.", "The form is unknown.");
      try {
        return await actions[action as Action](visit, ctx);
      } catch (error) {
        const uri = action === "confirm" ? uriOf(visit) : undefined;
        return pageOf(visit, ctx, action, { rejection: rejectionOf(visit, error), ...(uri && { uri }) });
      }
    }),
  };
}

const inputOf = ({ form }: Visit) => ({ input: { oneTimeCode: form.get("oneTimeCode") ?? "" } });

/** The URI in the form of the first code, which shows it again after a wrong one: no operation returns it twice. */
function uriOf({ form }: Visit): string | undefined {
  const uri = form.get("uri") ?? "";
  return /^otpauth:\/\/totp\/[\x21-\x7e]{1,1000}$/.test(uri) && URL.canParse(uri) ? uri : undefined;
}

const code = (label: string): Field => ({
  name: "oneTimeCode",
  label,
  type: "text",
  autocomplete: "one-time-code",
  isCode: true,
});

const password: Field = { name: "password", label: "Password", type: "password", autocomplete: "current-password" };

const formOf = (visit: Visit, action: Action, fields: Part): Html =>
  sessionForm(
    visit,
    secondFactorPath,
    html`<input type="hidden" name="action" value="${action}" />
      <input type="hidden" name="return_to" value="${returnToOf(visit)}" />${fields}`,
  );

const beginForm = (visit: Visit, { rejection }: Shown): Html =>
  html`<p>
      With an authenticator, an application on your phone or computer, sign-in asks for a code after your password: who
      knows the password alone cannot sign in.
    </p>
    ${formOf(visit, "begin", html`${fieldsOf([password], rejection)}<button>Add an authenticator</button>`)}`;

function confirmForm(visit: Visit, uri: string, { rejection }: Shown): Html {
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  const image = `data:image/svg+xml;base64,${Buffer.from(renderSVG(uri, { ecc: "M", border: 4 })).toString("base64")}`;
  return html`<p>Scan this with your authenticator, or enter the key, and then the code that it shows.</p>
    <img class="qr" src="${image}" width="220" height="220" alt="QR code of the key below" />
    <p>Key: <code>${secret.match(/.{1,4}/g)?.join(" ")}</code></p>
    ${formOf(
      visit,
      "confirm",
      html`<input type="hidden" name="uri" value="${uri}" />${fieldsOf([code("Code")], rejection)}<button>
          Confirm
        </button>`,
    )}`;
}

const overview = (since: string, left: number): Html =>
  html`<p>Sign-in asks for a code of your authenticator, which you added ${timeOf(since)}.</p>
    <p>${left === 0 ? html`<strong>You have no recovery codes left.</strong>` : `Recovery codes left: ${left}.`}</p>
    <ul>
      <li><a href="${secondFactorPath}?change=codes">Make new recovery codes</a></li>
      <li><a href="${secondFactorPath}?change=replace">Replace the authenticator</a></li>
      <li><a href="${secondFactorPath}?change=remove">Remove the authenticator</a></li>
    </ul>`;

const anyCode = code("Code of your authenticator, or a recovery code");

/** The forms that change a factor. */
const changes = {
  codes: { says: "New recovery codes replace those that are left.", fields: [anyCode], button: "Make new codes" },
  replace: {
    says: "The present authenticator works until you have confirmed the new one.",
    fields: [password, anyCode],
    button: "Continue",
  },
  remove: {
    says: "Sign-in asks for your password alone then, and your recovery codes end.",
    fields: [anyCode],
    button: "Remove the authenticator",
  },
} satisfies Partial<Record<Action, { says: string; fields: Field[]; button: string }>>;

function changeForm(visit: Visit, action: keyof typeof changes, { rejection }: Shown): Html {
  const { says, fields, button } = changes[action];
  return html`<p>${says}</p>
    ${formOf(visit, action, html`${fieldsOf(fields, rejection)}<button>${button}</button>`)}
    <p class="aside"><a href="${secondFactorPath}">Back</a></p>`;
}

const codesPage = (visit: Visit, done: string, codes: readonly string[], isFirst = false): StatusPage => {
  const page = {
    title: "Recovery codes",
    main: html`${notice(done)}
      <p>
        Keep these codes where you find them without your authenticator. Each signs in once, in place of its code. They
        are not shown again.
      </p>
      <ul class="codes">
        ${codes.map((each) => html`<li>${each}</li>`)}
      </ul>
      <a class="button" href="${isFirst ? returnToOf(visit) : secondFactorPath}">I have kept them</a>`,
  };
  return isFirst ? page : accountPage(visit, page);
};

/** Whether the user can do nothing else before: then the page reads nothing of the account. */
const mustAdd = ({ actor }: Context): boolean => actor.kind === "user" && actor.mustAddFactor === true;

/** The page of users who must add a second factor first. */
const firstPage = (visit: Visit, shown: Shown): StatusPage => ({
  status: shown.rejection?.status,
  title: "Add a second factor",
  main: html`<p>This deployment requires a second factor. Add one, and you can go on.</p>
    ${shown.uri === undefined ? beginForm(visit, shown) : confirmForm(visit, shown.uri, shown)}
    ${sessionForm(visit, "/logout", html`<button class="quiet">Sign out</button>`)}`,
});
