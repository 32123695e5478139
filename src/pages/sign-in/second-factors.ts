import { renderSVG } from "uqr";
import type { Context } from "../../domain/kernel/context.js";
import { translate } from "../../graphql/engine/errors.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { mustAddFactor } from "../../graphql/engine/access.js";
import { TransportError } from "../../http/errors.js";
import { accountPage, listOf, timeOf } from "../account.js";
import { type Field, fieldsOf, type Rejection, rejectionOf, sessionForm } from "../forms.js";
import { type Html, html } from "../html.js";
import { alarm, notice } from "../layout.js";
import { type PageHandler, perform, secondFactorPath, signedIn, type StatusPage, type Visit } from "../visit.js";
import { actionForm, createForm, type OwnPasskey, OwnPasskeys, passkeySection, renameForm } from "./own-passkeys.js";
import { passkeyScriptPath } from "./passkeys.js";
import { returnToOf } from "./visitor-forms.js";

interface Own {
  me: { loginType: string };
  secondFactors: {
    level: string;
    addBy: string | null;
    authenticatorConfirmedAt: string | null;
    recoveryCodesLeft: number;
    passkeys: OwnPasskey[];
    rememberedDevices: RememberedBrowser[];
  };
}

/** A browser in which sign-in takes no second factor. */
interface RememberedBrowser {
  id: string;
  userAgent: string | null;
  createdAt: string;
  lastUsedAt: string | null;
}

/** The forms of the page. */
type Action =
  | "begin"
  | "replace"
  | "confirm"
  | "codes"
  | "remove"
  | "passkey_begin"
  | "passkey_add"
  | "passkey_rename"
  | "passkey_remove"
  | "prove"
  | "forget";

interface Shown {
  rejection?: Rejection;
  top?: Html;
  /** The URI of the authenticator to confirm. */
  uri?: string;
  /** The options for a new passkey. */
  creation?: object;
  /** How the user can prove again who that is, for an action that takes it. */
  ways?: readonly string[];
}

/** The page on which users add an authenticator and passkeys, and look after them. */
export function secondFactorPages(operation: (name: string) => StoredOperation): {
  show: PageHandler;
  submit: PageHandler;
} {
  const read = operation("OwnSecondFactors");
  const begin = operation("BeginAuthenticator");
  const confirm = operation("ConfirmAuthenticator");
  const regenerate = operation("RegenerateRecoveryCodes");
  const remove = operation("RemoveAuthenticator");
  const forget = operation("ForgetDevice");

  const own = new OwnPasskeys(operation);

  async function pageOf(visit: Visit, ctx: Context, action: string | null, shown: Shown = {}): Promise<StatusPage> {
    const isOffered = await own.areOffered(visit);
    if (mustAdd(ctx)) return firstPage(visit, shown, isOffered);
    const { me, secondFactors } = await perform<Own>(read, ctx.afresh());
    const main =
      me.loginType === "PASSWORD"
        ? await mainOf(visit, ctx, { ...secondFactors, isOffered }, action, shown)
        : html`<p>You sign in through a provider, which asks for further factors by itself.</p>`;
    const { rejection, top } = shown;
    const page = { status: rejection?.status, title: "Second factor", main: html`${top} ${main}` };
    return accountPage(visit, { ...page, ...(usesScript(shown) && { script: passkeyScriptPath }) });
  }

  /** The content of the page for an account with a password. */
  async function mainOf(
    visit: Visit,
    ctx: Context,
    held: Own["secondFactors"] & { isOffered: boolean },
    action: string | null,
    shown: Shown,
  ): Promise<Html> {
    const { authenticatorConfirmedAt: since, passkeys, isOffered, level, addBy } = held;
    if (shown.ways) {
      const ways = shown.ways.filter((way) => way !== "passkey" || passkeys.length > 0);
      return own.proofForms(visit, ctx, ways, aboutPasskey(shown.rejection));
    }
    if (shown.uri !== undefined) return confirmForm(visit, shown.uri, shown);
    if (shown.creation) return createForm(visit, shown.creation);
    if (since === null && passkeys.length === 0)
      return level === "OFF"
        ? html`<p>Second factors are switched off here.</p>`
        : html`${addBy === null ? undefined : html`<p>${soon(addBy)}</p>`} ${beginForm(visit, shown, isOffered)}`;
    const renamed = passkeys.find(({ id }) => id === (visit.query.get("passkey") ?? visit.form.get("id")));
    if (renamed && (action === null || action === "passkey_rename")) return renameForm(visit, renamed, shown.rejection);
    if (action !== null && Object.hasOwn(changes, action))
      return changeForm(visit, action as keyof typeof changes, since !== null, shown);
    return html`${alarm(messageOf(shown.rejection))} ${overview(visit, held)}`;
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

    async passkey_begin(visit, ctx) {
      return pageOf(visit, ctx, null, { creation: await own.begin(visit, ctx) });
    },

    async passkey_add(visit, ctx) {
      const codes = await own.add(visit, ctx);
      const added = "Your passkey is added.";
      return codes ? codesPage(visit, added, codes, mustAdd(ctx)) : pageOf(visit, ctx, "", { top: notice(added) });
    },

    async passkey_rename(visit, ctx) {
      await own.rename(visit, ctx);
      return pageOf(visit, ctx, "", { top: notice("Your passkey is renamed.") });
    },

    async passkey_remove(visit, ctx) {
      await own.remove(visit, ctx);
      return pageOf(visit, ctx, "", { top: notice("Your passkey is removed.") });
    },

    async forget(visit, ctx) {
      await perform(forget, ctx, { input: { id: visit.form.get("id") ?? "" } });
      return pageOf(visit, ctx, "", { top: notice("The browser is forgotten.") });
    },

    async prove(visit, ctx) {
      await own.prove(visit, ctx);
      const next = visit.form.get("next") ?? "";
      // Forms with further fields are shown again.
      const goesOn = next === "passkey_begin" || next === "passkey_remove" || next === "codes";
      return goesOn ? actions[next](visit, ctx) : pageOf(visit, ctx, Object.hasOwn(changes, next) ? next : "");
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
        const { code, details } = translate(error);
        if (code === "STEP_UP_REQUIRED") return pageOf(visit, ctx, action, { ways: details.satisfiedBy ?? [] });
        const uri = action === "confirm" ? uriOf(visit) : undefined;
        const rejection = rejectionOf(visit, error);
        if (action === "prove") return pageOf(visit, ctx, action, { rejection, ways: ["passkey", "one_time_code"] });
        return pageOf(visit, ctx, action, { rejection, ...(uri && { uri }) });
      }
    }),
  };
}

const inputOf = ({ form }: Visit) => ({ input: { oneTimeCode: form.get("oneTimeCode") ?? undefined } });

/** A fault of a passkey concerns no field that is shown. */
const aboutPasskey = (rejection: Rejection | undefined): Rejection | undefined =>
  rejection?.faults["passkey"] === undefined ? rejection : { ...rejection, message: messageOf(rejection)! };

/** Whether a page has a form that sends a passkey. */
const usesScript = ({ creation, ways }: Shown): boolean => creation !== undefined || ways !== undefined;

/** The message about a rejected form that the page does not show again. */
const messageOf = (rejection: Rejection | undefined): string | undefined =>
  rejection && (rejection.message ?? Object.values(rejection.faults).join(" "));

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

const beginForm = (visit: Visit, { rejection }: Shown, takesPasskeys: boolean): Html =>
  html`<p>
      With an authenticator, an application on your phone or computer, sign-in asks for a code after your password: who
      knows the password alone cannot sign in.
    </p>
    ${
      takesPasskeys
        ? html`<p>
            With a passkey, your browser or phone signs in for you, in place of the password or after it. It cannot be
            given away to a false page.
          </p>`
        : undefined
    }
    ${sessionForm(
      visit,
      secondFactorPath,
      html`<input type="hidden" name="return_to" value="${returnToOf(visit)}" />${fieldsOf([password], rejection)}
        <div class="decision">
          <button name="action" value="begin">Add an authenticator</button>
          ${takesPasskeys ? html`<button name="action" value="passkey_begin">Add a passkey</button>` : undefined}
        </div>`,
    )}`;

function confirmForm(visit: Visit, uri: string, { rejection }: Shown): Html {
  const secret = new URL(uri).searchParams.get("secret") ?? "";
  const image = `data:image/svg+xml;base64,${Buffer.from(renderSVG(uri, { ecc: "M", border: 4 })).toString("base64")}`;
  return html`<p>Scan this with your authenticator, or enter the key, and then the code that it shows.</p>
    <img class="qr" src="${image}" width="220" height="220" alt="QR code of the key below" />
    <p>Key: <code>${secret.match(/.{1,4}/g)?.join(" ")}</code></p>
    ${actionForm(
      visit,
      "confirm",
      html`<input type="hidden" name="uri" value="${uri}" />${fieldsOf([code("Code")], rejection)}<button>
          Confirm
        </button>`,
    )}`;
}

const soon = (addBy: string): Html =>
  html`<strong>Your account requires one: add it ${timeOf(addBy)} at the latest.</strong> After that, you can do nothing
    else first.`;

const overview = (
  visit: Visit,
  {
    authenticatorConfirmedAt: since,
    recoveryCodesLeft: left,
    passkeys,
    rememberedDevices,
    isOffered,
  }: Own["secondFactors"] & {
    isOffered: boolean;
  },
): Html =>
  html`${
      since === null
        ? html`<p>
            Sign-in asks for a passkey after your password. You can also
            <a href="${secondFactorPath}?change=begin">add an authenticator</a>.
          </p>`
        : html`<p>Sign-in asks for a code of your authenticator, which you added ${timeOf(since)}.</p>`
    }
    <p>${left === 0 ? html`<strong>You have no recovery codes left.</strong>` : `Recovery codes left: ${left}.`}</p>
    <ul>
      <li><a href="${secondFactorPath}?change=codes">Make new recovery codes</a></li>
      ${
        since === null
          ? undefined
          : html`<li><a href="${secondFactorPath}?change=replace">Replace the authenticator</a></li>
              <li><a href="${secondFactorPath}?change=remove">Remove the authenticator</a></li>`
      }
    </ul>
    ${isOffered ? passkeySection(visit, passkeys) : undefined}
    ${rememberedDevices.length > 0 ? browserSection(visit, rememberedDevices) : undefined}`;

/** The browsers in which sign-in takes no second factor. */
const browserSection = (visit: Visit, browsers: readonly RememberedBrowser[]): Html =>
  html`<h2>Remembered browsers</h2>
    <p>There, sign-in takes your password alone.</p>
    ${listOf(
      browsers.map(({ id, userAgent, createdAt, lastUsedAt }) => ({
        title: userAgent ?? "Unknown browser",
        lines: [
          html`Remembered ${timeOf(createdAt)}`,
          lastUsedAt === null ? undefined : html`Last used ${timeOf(lastUsedAt)}`,
        ],
        actions: actionForm(
          visit,
          "forget",
          html`<input type="hidden" name="id" value="${id}" /><button class="quiet">Forget</button>`,
        ),
      })),
    )}`;

const anyCode = code("Code of your authenticator, or a recovery code");

/** The forms that change a factor. */
const changes = {
  begin: {
    says: "An application on your phone or computer shows codes that you can give in place of a passkey.",
    fields: [password],
    button: "Add an authenticator",
  },
  codes: { says: "New recovery codes replace those that are left.", fields: [anyCode], button: "Make new codes" },
  replace: {
    says: "The present authenticator works until you have confirmed the new one.",
    fields: [password, anyCode],
    button: "Continue",
  },
  remove: {
    says: "Sign-in asks for your password alone then, and your recovery codes end, unless you have passkeys.",
    fields: [anyCode],
    button: "Remove the authenticator",
  },
} satisfies Partial<Record<Action, { says: string; fields: Field[]; button: string }>>;

function changeForm(visit: Visit, action: keyof typeof changes, hasCodes: boolean, { rejection }: Shown): Html {
  const { says, fields, button } = changes[action];
  // Holders of passkeys alone prove who they are on another form.
  const shown = hasCodes ? fields : fields.filter(({ isCode }) => !isCode);
  return html`<p>${says}</p>
    ${actionForm(visit, action, html`${fieldsOf(shown, rejection)}<button>${button}</button>`)}
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
const mustAdd = ({ actor }: Context): boolean => mustAddFactor(actor);

/** The page of users who must add a second factor first. */
const firstPage = (visit: Visit, shown: Shown, takesPasskeys: boolean): StatusPage => ({
  status: shown.rejection?.status,
  title: "Add a second factor",
  ...(usesScript(shown) && { script: passkeyScriptPath }),
  main: html`<p>Your account requires a second factor. Add one, and you can go on.</p>
    ${
      shown.creation
        ? createForm(visit, shown.creation)
        : shown.uri === undefined
          ? beginForm(visit, shown, takesPasskeys)
          : confirmForm(visit, shown.uri, shown)
    }
    ${sessionForm(visit, "/logout", html`<button class="quiet">Sign out</button>`)}`,
});
