// How an identity provider is connected: the address and the token to enter there, the steps, and whether it has called.
import { useData, usePolling } from "../api/hooks";
import { Copyable } from "../ui/dialog";
import { Status, Time } from "../ui/parts";
import { ScimSetup as Setup } from "./scim-keys.gql";

/** Milliseconds between two looks at whether a request has arrived. */
const pollInterval = 2_000;

interface Guide {
  provider: string;
  steps: readonly string[];
}

const guides: readonly Guide[] = [
  {
    provider: "Okta",
    steps: [
      "Open your application in the Admin Console. Under General, choose SCIM for provisioning, and save.",
      "Under Provisioning, Integration: enter the base URL, and userName as the unique identifier field for users.",
      "Turn on pushing new users, profile updates, and groups. Choose HTTP Header for authentication, and enter the token.",
      "Press Test Connector Configuration, and save.",
      "Under Provisioning, To App: turn on creating users, updating their attributes, and deactivating them.",
      "Under Assignments: assign people. Under Push Groups: choose groups.",
    ],
  },
  {
    provider: "Microsoft Entra ID",
    steps: [
      "Open your enterprise application, then Provisioning, and choose Automatic.",
      "Under Admin Credentials: enter the base URL as the Tenant URL, and the token as the Secret Token.",
      "Press Test Connection, and save.",
      "Under Mappings: keep the ones for users and groups. userPrincipalName becomes the username.",
      "Under Users and groups: assign people and groups. Then set the provisioning status to On.",
    ],
  },
];

/** What is entered at the identity provider; the secret is known only when the key is new. */
export function ScimSetup({ keyId, secret }: { keyId: string; secret?: string }) {
  const loaded = useData(Setup, {});
  const key = loaded.data?.scimKeys.nodes.find(({ id }) => id === keyId);
  usePolling(loaded, pollInterval, key?.lastUsedAt == null);
  const base = loaded.data && `${loaded.data.serverInfo.accessUrl.replace(/\/$/, "")}/scim/v2`;
  return (
    <div class="setup">
      {base && <Copyable label="Base URL" text={base} />}
      {secret && <Copyable label="Token" text={secret} isSecret />}
      {guides.map(({ provider, steps }) => (
        <details key={provider}>
          <summary>Steps in {provider}</summary>
          <ol>
            {steps.map((step) => (
              <li key={step}>{step}</li>
            ))}
          </ol>
        </details>
      ))}
      <output class="arrival">
        {key?.lastUsedAt ? (
          <>
            <Status name="CONNECTED" label="A request has arrived" />{" "}
            <span class="faint">
              from {key.lastUsedIp}, <Time at={key.lastUsedAt} />
            </span>
          </>
        ) : (
          <Status name="PENDING" label="No request has arrived yet. This turns green with the first one." />
        )}
      </output>
    </div>
  );
}
