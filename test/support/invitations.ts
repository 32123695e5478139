// Invitations by administrators, and people who accept them.
import { goodPassword } from "./accounts.js";
import type { Client } from "./world.js";

const selection = "invitation { id email status isVoid delivery } link";

export interface Invited {
  invitation: { id: string; email: string; status: string; isVoid: boolean; delivery: string };
  link: string | null;
}

let made = 0;

/** An email that no one has. */
export const newEmail = (): string => `new-${++made}@example.com`;

/** Runs a mutation whose input has the usual name, and returns its payload. */
export async function mutate(client: Client, verb: string, input: object, selected: string) {
  const type = `${verb[0]!.toUpperCase()}${verb.slice(1)}Input`;
  const document = `mutation($input: ${type}!) { ${verb}(input: $input) { ${selected} } }`;
  return (await client.graphql(document, { input }))[verb];
}

export const inviteDocument = `mutation($input: InviteUserInput!) { inviteUser(input: $input) { ${selection} } }`;

/** Invites a person, with a link to hand over unless the input says otherwise. */
export const invite = (client: Client, input: object = {}): Promise<Invited> =>
  mutate(client, "inviteUser", { email: newEmail(), delivery: "LINK", ...input }, selection);

export const resend = (client: Client, id: string): Promise<Invited> =>
  mutate(client, "resendInvitation", { id, delivery: "LINK" }, selection);

export const revoke = (client: Client, id: string): Promise<Invited> =>
  mutate(client, "revokeInvitation", { id }, "invitation { id status }");

export const tokenIn = (link: string | null): string => new URL(link!).searchParams.get("token")!;

const acceptance = `mutation($input: AcceptInvitationInput!) {
  acceptInvitation(input: $input) { sessionToken user { id username email name roles { name organizationId } organizationIds } } }`;

export interface Accepted {
  sessionToken: string;
  user: {
    id: string;
    username: string;
    email: string;
    name: string;
    roles: Array<{ name: string; organizationId: string }>;
    organizationIds: string[];
  };
}

/** The document and the variables with which a person accepts an invitation. */
export const accepting = (link: string | null, input: object = {}) =>
  [
    acceptance,
    { input: { token: tokenIn(link), username: `guest-${++made}`, password: goodPassword, ...input } },
  ] as const;

export const accept = async (client: Client, link: string | null, input: object = {}): Promise<Accepted> =>
  (await client.graphql(...accepting(link, input))).acceptInvitation;

/** An invitation, as an administrator sees it. */
export const invitationOf = async (client: Client, id: string) =>
  (
    await client.graphql(
      `query($id: UUID!) { invitation(id: $id) { email name siteRoles loginType status delivery isMailed isVoid hasAccount mailFault
         sendCount expiresAt memberships { organizationName roles } groups { name } inviter { username } user { username } } }`,
      { id },
    )
  ).invitation;
