import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Dialog } from "../ui/dialog";
import { List } from "../ui/list";
import { say } from "../ui/notices";
import { Heading, Labels, Panel, LastUse, Time } from "../ui/parts";
import { countOf, keyNameOf, wordsOf } from "../ui/text";
import { TokenExpiry } from "./expiry";
import { Passkeys } from "./passkeys";
import { ScopeTree } from "./scope-tree";
import {
  BeginIdentityLink,
  CreateApiKey,
  Keys,
  RenameKey,
  RevokeKey,
  RevokeSessions,
  UnlinkOwnIdentity,
} from "./keys.gql";

/** Creates a key of a service account, or of the caller. */
export const CreateKey = ({ user }: { user?: string }) => (
  <Action
    label="Create a key"
    look="primary"
    run={CreateApiKey}
    given={user ? { user } : {}}
    fields={[
      { name: "name", hint: "What uses it, such as a laptop or a build server. You find it by this name." },
      { name: "expiresAt", label: "Expires", control: TokenExpiry },
      { name: "scopes", label: "What it may do", kind: "choices", control: ScopeTree, isGroup: true, isRequired: true },
    ]}
    submit="Create"
    reveal={({ createApiKey: { apiKey, token } }) => [`Key ${apiKey.name}`, token]}
  />
);

interface Identity {
  providerName: string;
  issuer: string;
  subject: string;
  createdAt: string;
}

interface IdentitiesProps {
  rows: readonly Identity[];
  actions?: ComponentChildren;
  /** What can be done to an identity. */
  actionOf?: (identity: Identity) => ComponentChildren;
}

/** The identities by which a user signs in. */
export const Identities = ({ rows, actions, actionOf }: IdentitiesProps) => (
  <Panel title="Identities" actions={actions}>
    <List
      name="Identities"
      rows={rows.map((identity) => ({ ...identity, id: `${identity.providerName} ${identity.subject}` }))}
      empty="No identity yet: the first sign-in at the provider with this email links one."
      columns={[
        { title: "Provider", show: ({ providerName, issuer }) => `${providerName}, ${issuer}` },
        { title: "ID", show: ({ subject }) => <code>{subject}</code> },
        { title: "Linked", show: ({ createdAt }) => <Time at={createdAt} /> },
        ...(actionOf ? [{ title: "Actions", isAction: true as const, show: actionOf }] : []),
      ]}
    />
  </Panel>
);

interface RevocableKey {
  id: string;
  kind: string;
  name: string;
  userAgent: string | null;
}

/** Revokes a key, by default with all that it made if it is a token, and shows what it made that is left. */
export function RevokeButton({ apiKey, confirm }: { apiKey: RevocableKey; confirm: string }) {
  const [left, setLeft] = useState<readonly Left[]>([]);
  return (
    <>
      <Action
        label="Revoke"
        on={keyNameOf(apiKey)}
        look="danger"
        confirm={confirm}
        run={RevokeKey}
        given={{ id: apiKey.id }}
        fields={[
          {
            name: "withAllItMade",
            label: "And all that it made",
            hint: "The keys that were created with it end, too, the access that it gave to applications, and what those keys made.",
          },
        ]}
        defaults={{ withAllItMade: apiKey.kind === "TOKEN" }}
        done={({ revokeApiKey }) => {
          const { endedKeyCount: keys, endedGrantCount: grants } = revokeApiKey;
          const also = [keys > 0 && countOf(keys, "key"), grants > 0 && countOf(grants, "grant")].filter(Boolean);
          say(also.length > 0 ? `Revoked, and ${also.join(" and ")} with it.` : "Revoked.");
          setLeft(revokeApiKey.left);
        }}
      />
      {left.length > 0 && (
        <Dialog title="Made with it, and still there" onClose={() => setLeft([])}>
          <p>Look at each: anyone who had the key may know its secret.</p>
          <ul>
            {left.map(({ resourceType, resourceId, label, madeAt }) => (
              <li key={`${resourceType} ${resourceId}`}>
                {wordsOf(resourceType)} <b>{label ?? resourceId}</b>, <Time at={madeAt} />
              </li>
            ))}
          </ul>
          <footer>
            <button type="button" class="primary" onClick={() => setLeft([])}>
              Done
            </button>
          </footer>
        </Dialog>
      )}
    </>
  );
}

interface Left {
  resourceType: string;
  resourceId: string | null;
  label: string | null;
  madeAt: string;
}

/** The key that made another one. */
export const makerOf = (maker: { kind: string | null; name: string; hasEnded: boolean } | null): string =>
  maker === null ? "" : `${maker.name || wordsOf(maker.kind ?? "key")}${maker.hasEnded ? " (ended)" : ""}`;

const factors: Record<string, string> = {
  PASSWORD: "Password",
  AUTHENTICATOR: "Password and authenticator",
  RECOVERY_CODE: "Password and recovery code",
  PASSKEY: "Passkey",
};

/** How the user of a session signed in, and through which provider. */
const signInOf = ({ factor, provider }: { factor: string | null; provider: string | null }): string =>
  provider === null
    ? (factors[factor ?? ""] ?? "")
    : `${provider}${factor === "PROVIDER" ? ", with a second factor there" : ""}`;

export function KeysView() {
  const keys = useData(Keys, {});
  const identities = keys.data?.userIdentities;
  const linked = new Set(identities?.map(({ providerName }) => providerName));
  const others = (keys.data?.serverInfo.identityProviders ?? []).filter(({ name }) => !linked.has(name));
  return (
    <>
      <Heading title="Sessions and keys" note="Where you are signed in, and the keys of your programs.">
        <Action
          label="End all other sessions"
          look="danger"
          confirm="You are signed out everywhere but here. Keys keep working."
          run={RevokeSessions}
          given={{}}
          done={({ revokeSessions: { revokedCount } }) => say(`${countOf(revokedCount, "session")} ended.`)}
        />
        <CreateKey />
      </Heading>
      <List
        name="Sessions and keys"
        rows={keys.data?.apiKeys}
        from={keys}
        empty="No session and no key."
        columns={[
          { title: "Name", show: (key) => <b>{keyNameOf(key)}</b> },
          { title: "Kind", show: ({ kind, isCurrent }) => (isCurrent ? "This session" : wordsOf(kind)) },
          {
            title: "Scopes",
            show: ({ scopes }) => <Labels of={scopes.filter((scope) => scope !== "all")} none="Everything" />,
          },
          { title: "Made by", show: ({ madeBy }) => makerOf(madeBy) },
          { title: "Signed in with", show: signInOf },
          { title: "Last used", show: ({ lastUsedAt, ip }) => <LastUse at={lastUsedAt} ip={ip} /> },
          { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (key) => (
              <>
                {key.kind === "TOKEN" && (
                  <Action
                    label="Rename"
                    on={key.name}
                    run={RenameKey}
                    given={{ id: key.id }}
                    fields={["name"]}
                    values={key}
                    prepare={({ name = key.name }) => ({ name: name as string })}
                    submit="Save"
                  />
                )}
                {!key.isCurrent && (
                  <RevokeButton apiKey={key} confirm="What uses it is signed out. This cannot be undone." />
                )}
              </>
            ),
          },
        ]}
      />
      {keys.data?.me.loginType === "PASSWORD" && <Passkeys />}
      {!!identities?.length && (
        <Identities
          rows={identities}
          actions={others.map(({ name, label }) => (
            <Action
              key={name}
              label={`Link ${label}`}
              run={BeginIdentityLink}
              given={{ provider: name }}
              done={({ beginIdentityLink: { url } }) => location.assign(url)}
            />
          ))}
          actionOf={({ providerName }) =>
            identities.length > 1 && (
              <Action
                label="Unlink"
                on={providerName}
                look="danger"
                confirm="You no longer sign in through it, and are signed out everywhere but here."
                run={UnlinkOwnIdentity}
                given={{ user: "me", provider: providerName }}
                said="The identity is unlinked."
              />
            )
          }
        />
      )}
    </>
  );
}
