import { type Html, html, type Part } from "../html.js";
import { perform, type RowPages, type StatusPage, type Visit } from "../visit.js";
import {
  access,
  type AccessRequest,
  applicant,
  decision,
  deniedPage,
  details,
  foreign,
  isDenial,
  type Me,
} from "./consent.js";

interface AuthorizationRequest extends AccessRequest {
  redirectUri: string;
  redirectTarget: { kind: "WEB" | "LOOPBACK" | "PRIVATE_SCHEME"; name: string };
}

interface Shown {
  oauth2AuthorizationRequest: AuthorizationRequest;
  me: Me;
}

interface Decided {
  /** Null for a denial that ends here. */
  redirectUri: string | null;
  /** Of denials. */
  appName?: string;
}

/** The consent page of authorization requests, and the decision on it. Neither is ever skipped. */
export const authorizationPages: RowPages = (operation) => {
  const read = operation("AuthorizationRequest");
  const approve = operation("ApproveAuthorization");
  const deny = operation("DenyAuthorization");
  return {
    async AuthorizationRequest(visit, ctx, variables) {
      const { oauth2AuthorizationRequest, me } = await perform<Shown>(read, ctx, variables);
      return consentPage(visit, oauth2AuthorizationRequest, me);
    },

    async ApproveAuthorization(visit, ctx, variables) {
      const chosen = isDenial(visit) ? deny : approve;
      const [decided] = Object.values(await perform<Record<string, Decided>>(chosen, ctx, variables));
      const { redirectUri, appName } = decided!;
      if (redirectUri !== null) return { goTo: redirectUri, status: 302 };
      return deniedPage(appName ?? "", "It was not told: go back to it, and end the sign-in there.");
    },
  };
};

function consentPage(visit: Visit, request: AuthorizationRequest, me: Me): StatusPage {
  return {
    title: `“${request.app.name}” requests access`,
    formAction: sourceOf(request),
    main: html`${applicant(request)} ${access(request)}
    ${details(
      visit,
      request,
      me,
      html`<dt>Returns to</dt>
        <dd>${returning(request)}</dd>`,
    )}
    ${warning(request)} ${decision(visit, visit.http.originalUrl)}`,
  };
}

const returning = ({ redirectTarget: { kind, name } }: AuthorizationRequest): Html =>
  kind === "PRIVATE_SCHEME"
    ? html`an application that opens links with ${foreign(`${name}:`)}`
    : html`${foreign(name)}`;

/** Programs on the machine of the user cannot prove which application they are (RFC 8252 §8.6). */
function warning({ redirectTarget: { kind } }: AuthorizationRequest): Part {
  if (kind === "WEB") return undefined;
  const program =
    kind === "LOOPBACK"
      ? "The result goes to a program on this device."
      : "It is not known which program on this device gets the result: any of them can open such links.";
  return html`<p class="warning">${program} Allow this only if you have just started the sign-in there yourself.</p>`;
}

/**
 * The redirect URI as a source of the content security policy, since browsers apply `form-action` to redirects. Sources
 * cannot express IPv6 addresses and some host names; for these it is the scheme.
 */
function sourceOf({ redirectUri, redirectTarget }: AuthorizationRequest): string {
  const { protocol, origin } = new URL(redirectUri);
  const isSource = redirectTarget.kind !== "PRIVATE_SCHEME" && /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(origin);
  return isSource ? origin : protocol;
}
