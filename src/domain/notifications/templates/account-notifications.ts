import {
  choosePassword,
  endsAt,
  noActions,
  viewFactors,
  viewKeys,
  viewProviders,
  viewScimKeys,
  viewUser,
} from "./actions.js";
import type { NotificationTemplate } from "./template.js";

const accountEvent = {
  group: "User Events",
  kind: "system",
  icon: "DEFAULT_ICON_ACCOUNT",
  recipients: "Owners and user administrators.",
  actions: viewUser,
} as const;

/** Users know what they did themselves. */
const eventOfAnother = {
  ...accountEvent,
  recipients: "Owners and user administrators, except the one who acted.",
  leavesOutInitiator: true,
} as const;

/** The name and the username of the account that a verb such as `created` was applied to. */
const account = (verb: string) =>
  `{% if labels.${verb}_account_user_name and labels.${verb}_account_user_name != labels.${verb}_account_name %} ({{ labels.${verb}_account_user_name }}){% endif %}`;

const labelsOf = (verb: string) => [`${verb}_account_name`, `${verb}_account_user_name`, "initiator"];

const byInitiator = "{% if labels.initiator %} by **{{ labels.initiator }}**{% endif %}";

export const accountNotifications = {
  created: {
    ...eventOfAnother,
    id: "4e19c0ac-94e1-4532-9515-d1801aa283b2",
    name: "User account created",
    labels: labelsOf("created"),
    title: "Account {{ labels.created_account_name }} was created",
    body: `The account **{{ labels.created_account_name }}**${account("created")} was created${byInitiator}.`,
  },
  deleted: {
    ...eventOfAnother,
    id: "f44d9314-ad03-4bc8-95d0-5cad491da6b6",
    name: "User account deleted",
    labels: labelsOf("deleted"),
    actions: noActions,
    title: "Account {{ labels.deleted_account_name }} was deleted",
    body: `The account **{{ labels.deleted_account_name }}**${account("deleted")} was deleted${byInitiator}. This cannot be undone.`,
  },
  suspended: {
    ...eventOfAnother,
    id: "b02ddd82-4733-4d02-a2d7-c36f3598997d",
    name: "User account suspended",
    labels: labelsOf("suspended"),
    title: "Account {{ labels.suspended_account_name }} was suspended",
    body: `The account **{{ labels.suspended_account_name }}**${account("suspended")} was suspended${byInitiator}. Its sessions and tokens have ended.`,
  },
  massSuspension: {
    ...accountEvent,
    id: "5a0c2a4e-6a0d-4c55-9c43-0a4f0b1e7d62",
    name: "Many Users Suspended",
    recipients: "Owners.",
    labels: ["count"],
    actions: noActions,
    title: "{{ labels.count }} users were suspended together",
    body: `**{{ labels.count }}** or more users were suspended within ten minutes, as by a faulty sync. Their running workspaces are not stopped until an owner releases them on the overview of the console, or the users are activated.`,
  },
  activated: {
    ...eventOfAnother,
    id: "9f5af851-8408-4e73-a7a1-c6502ba46689",
    name: "User account activated",
    labels: labelsOf("activated"),
    title: "Account {{ labels.activated_account_name }} was activated",
    body: `The account **{{ labels.activated_account_name }}**${account("activated")} was activated${byInitiator} and can sign in again.`,
  },
  revived: {
    ...eventOfAnother,
    id: "5d1c6a0e-3b52-4c7e-9a41-7f0f0a6b7c52",
    name: "User account given again by its email",
    labels: [...labelsOf("revived"), "workspaces"],
    title: "Account {{ labels.revived_account_name }} may belong to another person now",
    body: `An identity provider has created a user with the email of **{{ labels.revived_account_name }}**${account("revived")}, whom it had deleted, and gave no other ID. The user has the account now. If it is another person, its email was given out again. Secrets, linked accounts, and ways to sign in of before are gone.{% if labels.workspaces %} These workspaces of before are stopped: {{ labels.workspaces }}.{% endif %}`,
  },
  ownSuspended: {
    ...accountEvent,
    id: "6a2f0609-9b69-4d36-a989-9f5925b6cbff",
    name: "Your account has been suspended",
    recipients: "The user of the account.",
    labels: ["suspended_account_name", "initiator"],
    reachesSuspended: true,
    actions: noActions,
    title: "Your account was suspended",
    body: `Your account **{{ labels.suspended_account_name }}** was suspended${byInitiator}. Until it is activated again, you cannot sign in, and your tokens do not work.

If you think that this is a mistake, contact your administrators.`,
  },
  ownActivated: {
    ...accountEvent,
    id: "1a6a6bea-ee0a-43e2-9e7c-eabdb53730e4",
    name: "Your account has been activated",
    recipients: "The user of the account.",
    labels: ["activated_account_name", "initiator"],
    // The statement that activates the user still reads it as suspended.
    reachesSuspended: true,
    actions: noActions,
    title: "Your account was activated",
    body: `Your account **{{ labels.activated_account_name }}** was activated${byInitiator}. You can sign in again. Tokens that you had before do not work any more.`,
  },
  tokenEnds: {
    ...accountEvent,
    id: "e3b5ff1c-7b61-4c9e-8f57-0d5c2a1a9b01",
    name: "API Token Ends Soon",
    recipients: "The user of the token, 14, 7, and 1 days before it ends.",
    labels: ["name", "ends_at"],
    actions: viewKeys,
    title: "Your API token {{ labels.name }} ends soon",
    body: `Your API token **{{ labels.name }}** ends on ${endsAt}. Programs that use it cannot sign in from then on.

Create another token, and give it to them.`,
  },
  scimKeyEnds: {
    ...accountEvent,
    id: "e3b5ff1c-7b61-4c9e-8f57-0d5c2a1a9b02",
    name: "SCIM Key Ends Soon",
    recipients: "The user who created the key, 14, 7, and 1 days before it ends.",
    labels: ["name", "ends_at"],
    actions: viewScimKeys,
    title: "The SCIM key {{ labels.name }} ends soon",
    body: `The SCIM key **{{ labels.name }}**, which you created, ends on ${endsAt}. The identity provider that uses it cannot manage users from then on.

Create another key for it, or let this one end later.`,
  },
  factorAdded: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a01",
    name: "Second Factor Added",
    recipients: "The user of the account.",
    labels: ["account_name"],
    actions: viewFactors,
    title: "An authenticator was added to your account",
    body: `An authenticator was added to your account **{{ labels.account_name }}**. Sign-in asks for its code from now on, and your other sessions have ended.

If that was not you, tell your administrators.`,
  },
  factorRemoved: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a02",
    name: "Second Factor Removed",
    recipients: "The user of the account.",
    labels: ["account_name", "initiator"],
    actions: viewFactors,
    title:
      "The {% if data.isAuthenticator %}authenticator of your account was{% else %}passkeys of your account were{% endif %} removed",
    body: `{% if data.isLeft %}The authenticator of your account **{{ labels.account_name }}** was removed${byInitiator}. Sign-in takes a passkey.{% else %}The {% if data.isAuthenticator %}authenticator{% if data.isPasskey %}, the passkeys,{% endif %}{% else %}passkeys{% endif %} and the recovery codes of your account **{{ labels.account_name }}** were removed${byInitiator}. Sign-in asks for the password alone.{% endif %}

If you did not want that, tell your administrators.`,
  },
  recoveryCodeUsed: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a03",
    name: "Recovery Code Used",
    recipients: "The user of the account.",
    labels: ["account_name"],
    actions: viewFactors,
    title: "A recovery code of your account was used",
    body: `A recovery code of your account **{{ labels.account_name }}** was used, to sign in or to prove who you are. It does not work again.

If that was not you, change your password and tell your administrators.`,
  },
  passkeyAdded: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a04",
    name: "Passkey Added",
    recipients: "The user of the account.",
    labels: ["account_name", "passkey"],
    actions: viewFactors,
    title: "A passkey was added to your account",
    body: `The passkey **{{ labels.passkey }}** was added to your account **{{ labels.account_name }}**. It can sign in to it.

If that was not you, change your password, remove the passkey, and tell your administrators.`,
  },
  passkeyRemoved: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a05",
    name: "Passkey Removed",
    recipients: "The user of the account.",
    labels: ["account_name", "passkey"],
    actions: viewFactors,
    title: "A passkey of your account was removed",
    body: `The passkey **{{ labels.passkey }}** of your account **{{ labels.account_name }}** was removed. {% if data.isLeft %}Sign-in still asks for a second factor.{% else %}Sign-in asks for the password alone, and your recovery codes ended.{% endif %}

If you did not want that, change your password and tell your administrators.`,
  },
  passkeyCopied: {
    ...accountEvent,
    id: "c1d8b0f2-2f0e-4a55-8a55-6f0f2d9e5a06",
    name: "Passkey May Have Been Copied",
    recipients: "The user of the account.",
    labels: ["account_name", "passkey"],
    actions: viewFactors,
    title: "A passkey of your account may have been copied",
    body: `The passkey **{{ labels.passkey }}** of your account **{{ labels.account_name }}** was used, but its count of uses did not grow. Another authenticator may hold a copy of it. It was not accepted.

Remove the passkey, and tell your administrators.`,
  },
  malformedClaim: {
    ...accountEvent,
    id: "7c1b8a52-4d0e-4f0b-9c3e-2b6f5d1e8a40",
    name: "Claim of a Provider Is Malformed",
    recipients: "Owners, at most once a day for a claim of a provider.",
    labels: ["provider", "claim", "username"],
    actions: viewProviders,
    title: "The claim {{ labels.claim }} of {{ labels.provider }} is malformed",
    body: `The provider **{{ labels.provider }}** sent a claim **{{ labels.claim }}** of **{{ labels.username }}** that is no list of texts, or left it out for its size. The user is signed in all the same. The mapping of the claim says whether what it gave before stays.

Others may be affected as well. Claims that are too large can often be limited at the provider to groups that are assigned to this application.`,
  },
  passcode: {
    ...accountEvent,
    id: "62f86a30-2330-4b61-a26d-311ff3b608cf",
    name: "One-Time Passcode",
    recipients: "The user of the account.",
    labels: ["one_time_passcode"],
    isMandatory: true,
    actions: choosePassword,
    title: "Your one-time passcode",
    body: `With this passcode you can choose a new password:

\`\`\`passcode
{{ labels.one_time_passcode }}
\`\`\`

It can be used once, within {{ data.minutes }} minutes. If you did not request it, ignore this message: your password stays as it is.`,
  },
} satisfies Record<string, NotificationTemplate>;
