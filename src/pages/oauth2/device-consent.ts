import { translate } from "../../graphql/engine/errors.js";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { statusOf } from "../../http/errors.js";
import { html } from "../html.js";
import { alarm, notice } from "../layout.js";
import { type Outcome, type PageHandler, perform, signInFirst, type StatusPage, type Visit } from "../visit.js";
import { access, type AccessRequest, applicant, decision, deniedPage, details, isDenial, type Me } from "./consent.js";

interface DeviceRequest extends AccessRequest {
  userCode: string;
  ip: string | null;
}

interface Shown {
  oauth2DeviceRequest: DeviceRequest;
  me: Me;
}

const path = "/oauth2/device";

/** The page for applications on devices without a browser (RFC 8628 §3.3): asks for the code, then for the decision. */
export function devicePages(operation: (name: string) => StoredOperation): { show: PageHandler; decide: PageHandler } {
  const read = operation("DeviceRequest");
  const approve = operation("ApproveDevice");
  const deny = operation("DenyDevice");

  return {
    show(visit) {
      const userCode = visit.query.get("user_code") ?? "";
      return signedIn(visit, userCode, async () => {
        const ctx = await visit.caller();
        read.admit(ctx);
        if (userCode === "" || isForeign(visit)) return codePage(userCode);
        const { oauth2DeviceRequest, me } = await perform<Shown>(read, ctx, { userCode });
        return consentPage(visit, oauth2DeviceRequest, me);
      });
    },

    decide(visit) {
      const userCode = visit.form.get("user_code") ?? "";
      return signedIn(visit, userCode, async () => {
        const isDenied = isDenial(visit);
        const chosen = isDenied ? deny : approve;
        const { decided } = await perform<{ decided: { appName: string } }>(chosen, await visit.caller(), { userCode });
        return isDenied ? deniedPage(decided.appName, "You can close this page.") : allowedPage(decided.appName);
      });
    },
  };
}

/**
 * Whether a page of another site opened this one. It could do so again and again, and use up the tries of the user: the
 * form is filled in, and the user sends it.
 */
const isForeign = ({ http: { headers } }: Visit): boolean =>
  /^(cross-site|same-site)$/.test(String(headers["sec-fetch-site"]));

/** Runs a step of a signed-in user. Wrong codes lead back to the form. */
async function signedIn(visit: Visit, userCode: string, step: PageHandler): Promise<Outcome> {
  await visit.services.limits.countAddress(visit.http.state.details);
  try {
    return await step(visit);
  } catch (error) {
    const { code, message, details: about } = translate(error);
    if (code === "UNAUTHENTICATED") return signInFirst(visit.http);
    if (code !== "NOT_FOUND" && code !== "RATE_LIMITED") throw error;
    const { retryAfter } = about;
    if (retryAfter !== undefined) visit.http.set("Retry-After", String(retryAfter));
    const wait = retryAfter === undefined ? "" : ` Try again in ${Math.ceil(retryAfter / 60)} minutes.`;
    return codePage(userCode, { status: statusOf(translate(error)), failure: message + wait });
  }
}

const codePage = (userCode: string, { status, failure }: { status?: number; failure?: string } = {}): StatusPage => ({
  status,
  title: "Connect a device",
  main: html`${alarm(failure)}
    <form method="get" action="${path}">
      <label
        >Code on your device
        <input
          class="code"
          name="user_code"
          value="${userCode}"
          maxlength="32"
          autocomplete="off"
          autocapitalize="characters"
          spellcheck="false"
          placeholder="BCDF-GHJK"
          required
          autofocus
      /></label>
      <button>Continue</button>
    </form>`,
});

function consentPage(visit: Visit, request: DeviceRequest, me: Me): StatusPage {
  const { app, userCode, ip } = request;
  const device = html`<dt>Device</dt>
    <dd>${ip ?? "of unknown address"}</dd>`;
  return {
    title: `“${app.name}” requests access on a device`,
    main: html`<p>Does your device show this code?</p>
      <p class="code" aria-label="Code">${userCode}</p>
      <p class="warning">
        If it does not, or if another person sent you the code, deny the request: access would go to their device.
      </p>
      ${applicant(request)} ${access(request)} ${details(visit, request, me, device)}
      ${decision(visit, path, html`<input type="hidden" name="user_code" value="${userCode}" />`)}`,
  };
}

const allowedPage = (app: string): StatusPage => ({
  title: "Access allowed",
  main: notice(`“${app}” has access now. Go on with your device; you can close this page.`),
});
