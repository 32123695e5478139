import type { Context } from "../../domain/kernel/context.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { listOf, timeOf } from "../account.js";
import { type Field, fieldsOf, type Rejection, sessionForm } from "../forms.js";
import { type Html, html, type Part } from "../html.js";
import { perform, secondFactorPath, type Visit } from "../visit.js";
import { passkeyFields, passkeyFormMarks } from "./passkeys.js";
import { returnToOf } from "./visitor-forms.js";

/** A passkey of the account. */
export interface OwnPasskey {
  id: string;
  name: string;
  isBackedUp: boolean;
  createdAt: string;
  lastUsedAt: string | null;
}

/** Does what the page of the own second factor offers for passkeys. */
export class OwnPasskeys {
  readonly #begin: StoredOperation;
  readonly #confirm: StoredOperation;
  readonly #update: StoredOperation;
  readonly #remove: StoredOperation;
  readonly #beginProof: StoredOperation;
  readonly #prove: StoredOperation;
  readonly #offer: StoredOperation;

  constructor(operation: (name: string) => StoredOperation) {
    this.#begin = operation("BeginPasskey");
    this.#confirm = operation("ConfirmPasskey");
    this.#update = operation("UpdatePasskey");
    this.#remove = operation("RemovePasskey");
    this.#beginProof = operation("BeginPasskeyProof");
    this.#prove = operation("ProveIdentity");
    this.#offer = operation("TakesPasskeys");
  }

  /** Whether the deployment takes passkeys. */
  async areOffered(visit: Visit): Promise<boolean> {
    type Offered = { serverInfo: { takesPasskeys: boolean } };
    return (await perform<Offered>(this.#offer, visit.anonymous())).serverInfo.takesPasskeys;
  }

  /** The options for a new passkey. */
  async begin({ form }: Visit, ctx: Context): Promise<object> {
    const password = form.get("password");
    const input = password === null ? {} : { password };
    return (await perform<{ beginPasskey: { options: object } }>(this.#begin, ctx, { input })).beginPasskey.options;
  }

  /** Adds a passkey. Returns the recovery codes that came with it, if it is the first factor. */
  async add({ form }: Visit, ctx: Context): Promise<string[] | null> {
    const name = form.get("name")?.trim() || undefined;
    const input = { passkey: form.get("passkey") ?? "", name };
    type Added = { confirmPasskey: { recoveryCodes: string[] | null } };
    return (await perform<Added>(this.#confirm, ctx, { input })).confirmPasskey.recoveryCodes;
  }

  rename = ({ form }: Visit, ctx: Context): Promise<unknown> =>
    perform(this.#update, ctx, { input: { id: form.get("id") ?? "", name: form.get("name") ?? "" } });

  remove = ({ form }: Visit, ctx: Context): Promise<unknown> =>
    perform(this.#remove, ctx, { input: { id: form.get("id") ?? "" } });

  /** Proves who the user is, by a code or a passkey. */
  prove({ form }: Visit, ctx: Context): Promise<unknown> {
    const passkey = form.get("passkey");
    const input = passkey === null ? { oneTimeCode: form.get("oneTimeCode") ?? "" } : { passkey };
    return perform(this.#prove, ctx, { input });
  }

  /** The options for a proof by a passkey. */
  async #proofOptions(ctx: Context): Promise<object> {
    type Begun = { beginPasskeyProof: { options: object } };
    return (await perform<Begun>(this.#beginProof, ctx)).beginPasskeyProof.options;
  }

  /** The forms that ask who the user is before they go on with an action. */
  async proofForms(
    visit: Visit,
    ctx: Context,
    ways: readonly string[],
    rejection: Rejection | undefined,
  ): Promise<Html> {
    const next = visit.form.get("next") ?? visit.form.get("action") ?? "";
    const kept = html`<input type="hidden" name="next" value="${next}" />
      <input type="hidden" name="id" value="${visit.form.get("id") ?? ""}" />`;
    const passkey = ways.includes("passkey") ? await this.#proofOptions(ctx) : undefined;
    const byPasskey =
      passkey &&
      actionForm(visit, "prove", html`${kept}${passkeyFields("Use a passkey")}`, passkeyFormMarks("use", passkey));
    return html`<p>Prove again who you are: your last proof is too old for this.</p>
      ${byPasskey} ${actionForm(visit, "prove", html`${kept}${fieldsOf([anyCode], rejection)}<button>Go on</button>`)}
      <p class="aside"><a href="${secondFactorPath}">Back</a></p>`;
  }
}

/** A form of the page, by what it does. */
export const actionForm = (visit: Visit, action: string, fields: Part, marks?: Html): Html =>
  sessionForm(
    visit,
    secondFactorPath,
    html`<input type="hidden" name="action" value="${action}" />
      <input type="hidden" name="return_to" value="${returnToOf(visit)}" />${fields}`,
    marks,
  );

const anyCode: Field = {
  name: "oneTimeCode",
  label: "Code of your authenticator, or a recovery code",
  type: "text",
  autocomplete: "one-time-code",
  isCode: true,
};

/** The passkeys of an account, with what can be done to them. */
export function passkeySection(visit: Visit, passkeys: readonly OwnPasskey[]): Html {
  const items = passkeys.map(({ id, name, isBackedUp, createdAt, lastUsedAt }) => ({
    title: name,
    badge: isBackedUp ? html`<span class="badge">Backed up</span>` : undefined,
    lines: [
      html`Added ${timeOf(createdAt)}`,
      lastUsedAt === null ? "Never used" : html`Last used ${timeOf(lastUsedAt)}`,
    ],
    actions: html`<a class="button" href="${secondFactorPath}?passkey=${id}">Rename</a> ${actionForm(
        visit,
        "passkey_remove",
        html`<input type="hidden" name="id" value="${id}" /><button class="quiet">Remove</button>`,
      )}`,
  }));
  const add = actionForm(visit, "passkey_begin", html`<button class="quiet">Add a passkey</button>`);
  return html`<h2>Passkeys</h2>
    ${items.length > 0 ? listOf(items) : html`<p>You have none.</p>`} ${add}`;
}

/** The form that makes a passkey in the browser, which its script shows. */
export const createForm = (visit: Visit, options: object): Html =>
  html`<p>
      Your browser or phone makes the passkey, and keeps it. It signs in to your account in place of the password, or
      after it.
    </p>
    <p class="warning" data-without-passkeys>This takes a browser with passkeys, and scripts.</p>
    ${actionForm(
      visit,
      "passkey_add",
      html`${fieldsOf([{ ...nameField, value: "Passkey" }])}${passkeyFields("Create the passkey")}`,
      passkeyFormMarks("create", options),
    )}
    <p class="aside"><a href="${secondFactorPath}">Back</a></p>`;

/** The form that renames a passkey. */
export const renameForm = (visit: Visit, { id, name }: OwnPasskey, rejection?: Rejection): Html =>
  html`${actionForm(
      visit,
      "passkey_rename",
      html`<input
          type="hidden"
          name="id"
          value="${id}"
        />${fieldsOf([{ ...nameField, value: name }], rejection)}<button>Rename</button>`,
    )}
    <p class="aside"><a href="${secondFactorPath}">Back</a></p>`;

const nameField: Field = {
  name: "name",
  label: "Name of the passkey",
  type: "text",
  autocomplete: "off",
  hint: "Such as the device that keeps it.",
};
