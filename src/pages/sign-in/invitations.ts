import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import { timeOf } from "../account.js";
import { type Field, fieldsOf, type Rejection, rejectionOf } from "../forms.js";
import { type Html, html, type Part } from "../html.js";
import { type PageHandler, perform, type StatusPage, type Visit } from "../visit.js";
import type { VisitorForms } from "./visitor-forms.js";

/** Where links of invitations lead. */
export const invitationPath = "/login/invitation";

interface Offer {
  email: string;
  name: string;
  username: string;
  inviterName: string;
  organizationNames: string[];
  expiresAt: string;
  takesPassword: boolean;
  providers: string[];
}

interface Offered {
  invitationOffer: Offer;
  serverInfo: { identityProviders: Array<{ type: string; label: string }> };
}

/** The values that a person has entered, or that the invitation suggests. */
interface Entered {
  username: string;
  name: string;
}

/**
 * The page on which a person accepts an invitation. Programs that look at mails open its link: a GET changes nothing, and
 * the form keeps the token, which is in no other URL.
 */
export function invitationPages(
  forms: VisitorForms,
  operation: (name: string) => StoredOperation,
): Record<"show" | "accept", PageHandler> {
  const read = operation("InvitationOffer");
  const accept = operation("AcceptInvitation");

  async function pageOf(visit: Visit, token: string, given?: Entered, rejection?: Rejection): Promise<StatusPage> {
    const { invitationOffer: offer, serverInfo } = await perform<Offered>(read, visit.anonymous(), { token });
    const { email, takesPassword } = offer;
    const entered = given ?? offer;
    const fields = html`<input type="hidden" name="token" value="${token}" />
      <input type="email" name="email" value="${email}" autocomplete="username" readonly hidden />
      ${fieldsOf(accountFields(entered), rejection)}<button>Create the account</button>`;
    const ways = serverInfo.identityProviders.filter(({ type }) => offer.providers.includes(type));
    return {
      status: rejection?.status,
      title: "You are invited",
      main: html`${describeOffer(offer)}
        ${takesPassword ? await forms.form(visit, invitationPath, "/", fields) : undefined}
        ${takesPassword && ways.length > 0 ? html`<p class="or">or</p>` : undefined} ${otherWays(ways, email)}
        ${!takesPassword && ways.length === 0 ? html`<p>No way to sign in is configured. Ask ${offer.inviterName}.</p>` : undefined}
        <p class="faint">The link works once, and ends ${timeOf(offer.expiresAt)}.</p>`,
    };
  }

  return {
    show: (visit) => pageOf(visit, visit.query.get("token") ?? ""),

    async accept(visit) {
      const [token, username, name, password, repeated] = ["token", "username", "name", "password", "repeated"].map(
        (field) => visit.form.get(field) ?? "",
      ) as [string, string, string, string, string];
      const again = (rejection: Rejection) => pageOf(visit, token, { username, name }, rejection);
      if (repeated !== password) return again(mistyped);
      try {
        await forms.requireOwn(visit);
        const { acceptInvitation } = await perform<{ acceptInvitation: { sessionToken: string } }>(
          accept,
          visit.anonymous(),
          { input: { token, username, name, password } },
        );
        visit.beginSession(acceptInvitation.sessionToken);
        return { goTo: "/" };
      } catch (error) {
        return again(rejectionOf(visit, error));
      }
    },
  };
}

/** The only rule of the form itself: without a script, the password cannot be shown while it is typed. */
const mistyped: Rejection = { status: 400, faults: { repeated: "Differs from the password." } };

const describeOffer = ({ email, inviterName, organizationNames }: Offer): Html =>
  html`<p>
    <strong>${inviterName}</strong> invites you to create an account with the address <strong>${email}</strong>${
      organizationNames.length > 0 ? html` in ${organizationNames.join(", ")}` : undefined
    }.
  </p>`;

const accountFields = ({ username, name }: Entered): Field[] => [
  {
    name: "username",
    label: "Username",
    type: "text",
    autocomplete: "nickname",
    value: username,
    hint: "Letters, digits, and single hyphens. It is part of the addresses of your workspaces.",
  },
  { name: "name", label: "Name", type: "text", autocomplete: "name", value: name, isOptional: true },
  {
    name: "password",
    label: "Password",
    type: "password",
    autocomplete: "new-password",
    hint: "A long one that is hard to guess, such as several unrelated words.",
  },
  { name: "repeated", label: "Password again", type: "password", autocomplete: "new-password" },
];

const otherWays = (ways: ReadonlyArray<{ type: string; label: string }>, email: string): Part =>
  ways.length === 0
    ? undefined
    : [
        ways.map(
          ({ type, label }) => html`<a class="button" href="/login/${type.toLowerCase()}">Sign in with ${label}</a>`,
        ),
        html`<p class="faint">There, use your account with the address ${email}.</p>`,
      ];
