import { cookieOf } from "../../http/cookies.js";
import { sessionCookie } from "../../http/credentials.js";
import { type Html, html, type Part } from "../html.js";
import { notice } from "../layout.js";
import { csrfField, type StatusPage, type Visit, withReturnTo } from "../visit.js";

/** The user who decides. */
export interface Me {
  username: string;
}

/** The access that an application requests. */
export interface AccessRequest {
  app: { name: string; isVerified: boolean; host: string | null };
  scopes: Array<{ name: string; description: string }>;
  refusedScopes: Array<{ name: string; description: string }>;
  isUnrestricted: boolean;
  audiences: string[];
}

/** Text of others, whose direction does not affect the text around it. */
export const foreign = (text: string): Html => html`<bdi>${text}</bdi>`;

/** Who vouches for the name of the application: for one that registered itself, only the host of its `client_id`. */
export function applicant({ app }: AccessRequest): Part {
  if (app.isVerified) return undefined;
  const host = app.host === null ? undefined : html` It is described by <strong>${app.host}</strong>.`;
  return html`<p class="warning">
    <strong>Registered itself, not verified.</strong>${host} Anyone can choose this name: allow access only if you trust
    where you came from.
  </p>`;
}

/** Shows the access that the application would get. */
export const access = ({ scopes, refusedScopes, isUnrestricted }: AccessRequest): Html =>
  isUnrestricted
    ? html`<p class="alarm">
        <strong>It wants full access to your account.</strong> It could do everything that you can do.
      </p>`
    : html`<h2>It wants to:</h2>
        ${listOf(scopes)} ${listRefused(refusedScopes)}`;

const listOf = (scopes: AccessRequest["scopes"]): Html =>
  html`<ul class="access">
    ${scopes.map(({ description }) => html`<li>${description}</li>`)}
  </ul>`;

/** The scopes that the application requests and does not get, whatever the user decides. */
const listRefused = (scopes: AccessRequest["scopes"]): Part =>
  scopes.length === 0
    ? undefined
    : html`<h2>It also requested, and does not get:</h2>
        ${listOf(scopes)}`;

/** The page after a denial, if it ends here. */
export const deniedPage = (app: string, then: string): StatusPage => ({
  title: "Access denied",
  main: notice(`“${app}” got no access. ${then}`),
});

/** The account that access is given to, and the resources that it is for. */
export function details(visit: Visit, { audiences }: AccessRequest, me: Me, ...more: Part[]): Html {
  const { accessUrl } = visit.services.config;
  const resources = audiences.length > 0 ? audiences : [accessUrl];
  const otherAccount = withReturnTo("/login", visit.http.originalUrl);
  return html`<dl>
    <dt>Your account</dt>
    <dd><strong>${me.username}</strong><br /><a href="${otherAccount}">Use another account</a></dd>
    <dt>Access to</dt>
    <dd>${resources.map((resource) => html`<div>${resource}</div>`)}</dd>
    ${more}
  </dl>`;
}

/** The decision of the user: a form that is sent to `action`. */
export function decision(visit: Visit, action: string, fields?: Part): Html {
  const session = cookieOf(visit.http.req, sessionCookie);
  return html`<form class="decision" method="post" action="${action}">
    ${session && csrfField(session)} ${fields}
    <button name="decision" value="allow">Allow</button>
    <button class="quiet" name="decision" value="deny">Deny</button>
  </form>`;
}

/**
 * Whether the request is denied, in the form or in the query. Requests of other clients need not say how they decide.
 */
export const isDenial = ({ form, query }: Visit): boolean =>
  [...form.getAll("decision"), ...query.getAll("decision")].some((each) => each !== "" && each !== "allow");
