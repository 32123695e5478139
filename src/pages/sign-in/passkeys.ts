import { readFileSync } from "node:fs";
import { type Html, html } from "../html.js";
import { fileOfPackage, fingerprint, pageFile } from "../layout.js";

/** The script of the pages with such forms: a package that spells options and credentials as JSON, and what uses it. */
export const passkeyScript = [
  readFileSync(fileOfPackage("@simplewebauthn/browser", "../dist/bundle/index.umd.min.js"), "utf8"),
  pageFile("passkeys.js"),
].join("\n");

export const passkeyScriptPath = `/assets/passkeys-${fingerprint(passkeyScript)}.js`;

/** The forms with a passkey: one that asks the server for options, or has those to use a passkey or to create one. */
export type PasskeyFormKind = "ask" | "use" | "create";

/** The attributes of such a form, which the script shows. */
export const passkeyFormMarks = (kind: PasskeyFormKind, options?: object): Html =>
  html`hidden
  data-passkey="${kind}"${options === undefined ? undefined : html` data-options="${JSON.stringify(options)}"`}`;

/** The end of such a form. */
export const passkeyFields = (button: string, look = ""): Html =>
  html`<input type="hidden" name="passkey" />
    <p class="alarm" role="alert" hidden></p>
    <button class="${look}">${button}</button>`;
