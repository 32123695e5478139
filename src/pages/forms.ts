import { translate } from "../graphql/engine/errors.js";
import { cookieOf } from "../http/cookies.js";
import { sessionCookie } from "../http/credentials.js";
import { statusOf } from "../http/errors.js";
import { type Html, html, type Part } from "./html.js";
import { alarm } from "./layout.js";
import { csrfField, type Visit } from "./visit.js";

/** A field of a form. */
export interface Field {
  /** Its name in the form and in the input of the operation. */
  name: string;
  label: string;
  type: "email" | "password" | "text";
  autocomplete: string;
  value?: string;
  /** Advice below the field. */
  hint?: string;
  /** Whether it may stay empty. */
  isOptional?: true;
  /** Whether it takes a code, which is typed from another place. */
  isCode?: true;
}

/** Why a form was rejected. */
export interface Rejection {
  status: number;
  /** Faults of the whole form. */
  message?: string;
  /** Faults of fields, by their names. */
  faults: Readonly<Record<string, string>>;
}

/** Describes the failure of a form's operation to the user. Throws it again if it is a defect. */
export function rejectionOf({ http }: Visit, thrown: unknown): Rejection {
  const failure = translate(thrown);
  if (failure.code === "INTERNAL_SERVER_ERROR") throw thrown;
  const { detail, retryAfter, validations = [] } = failure.details;
  if (retryAfter !== undefined) http.set("Retry-After", String(retryAfter));
  const faults = Object.fromEntries(validations.map(({ field, detail: rule }) => [field, rule]));
  const wait = retryAfter && `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`;
  const message = [failure.message, detail, wait].filter(Boolean).join(" ");
  return { status: statusOf(failure), faults, ...(validations.length === 0 && { message }) };
}

/**
 * The fields of a form, below what concerns all of it. The first one with a fault has the focus, or else the first
 * empty one.
 */
export function fieldsOf(fields: readonly Field[], { message, faults = {} }: Partial<Rejection> = {}): Part[] {
  const focused =
    fields.find(({ name }) => Object.hasOwn(faults, name)) ??
    fields.find(({ value, isOptional }) => !value && !isOptional);
  return [alarm(message), ...fields.map((field) => labelField(field, faults[field.name], field === focused))];
}

function labelField(
  { name, label, type, autocomplete, value, hint, isCode, isOptional }: Field,
  fault: string | undefined,
  isFocused: boolean,
) {
  const notes = [hint && `${name}-hint`, fault && `${name}-fault`].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      autocomplete="${autocomplete}"
      value="${value ?? ""}"
      ${isOptional ? undefined : html`required`}
      ${isCode && html`class="code" maxlength="32" autocapitalize="characters" spellcheck="false"`}
      ${notes === "" ? undefined : html`aria-describedby="${notes}"`}
      ${fault === undefined ? undefined : html`aria-invalid="true"`}
      ${isFocused ? html`autofocus` : undefined}
    />
    ${fault === undefined ? undefined : html`<p class="fault" id="${name}-fault" role="alert">${fault}</p>`}
    ${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
  </div>`;
}

/** A form of a signed-in user, with the CSRF token of the session. Without a cookie, there is no token to protect. */
export function sessionForm({ http }: Visit, action: string, fields: Part, marks?: Html): Html {
  const session = cookieOf(http.req, sessionCookie);
  return html`<form method="post" action="${action}" ${marks}>${session && csrfField(session)} ${fields}</form>`;
}
