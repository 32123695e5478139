import type { ComponentChildren } from "preact";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { say } from "../ui/notices";
import { Heading, Labels, Panel, Time } from "../ui/parts";
import { countOf, keyNameOf, wordsOf } from "../ui/text";
import { CreateApiKey, Keys, RenameKey, RevokeKey, RevokeSessions } from "./keys.gql";

/** Creates a key of a service account, or of the caller. */
export const CreateKey = ({ user }: { user?: string }) => (
  <Action
    label="Create a key"
    look="primary"
    run={CreateApiKey}
    given={user ? { user } : {}}
    fields={[
      "name",
      {
        name: "scopes",
        hint: `One a line. Without any, the key may do everything that ${user ? "the account" : "you"} may.`,
      },
      "expiresAt",
    ]}
    prepare={({ scopes, ...rest }) => ({
      ...(rest as { name: string }),
      ...((scopes as string[]).length > 0 && { scopes: scopes as string[] }),
    })}
    submit="Create"
    reveal={({ createApiKey: { apiKey, token } }) => [`Key ${apiKey.name}`, token]}
  />
);

interface Identity {
  provider: string;
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
      rows={rows.map((identity) => ({ ...identity, id: identity.subject }))}
      empty="No identity yet: the first sign-in at the provider with this email links one."
      columns={[
        { title: "Provider", show: ({ provider, issuer }) => `${wordsOf(provider)}, ${issuer}` },
        { title: "ID", show: ({ subject }) => <code>{subject}</code> },
        { title: "Linked", show: ({ createdAt }) => <Time at={createdAt} /> },
        ...(actionOf ? [{ title: "Actions", isAction: true as const, show: actionOf }] : []),
      ]}
    />
  </Panel>
);

export function KeysView() {
  const keys = useData(Keys, {});
  const identities = keys.data?.userIdentities;
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
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          { title: "From", show: ({ ip }) => ip },
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
                  <Action
                    label="Revoke"
                    on={keyNameOf(key)}
                    look="danger"
                    confirm="What uses it is signed out. This cannot be undone."
                    run={RevokeKey}
                    given={{ id: key.id }}
                    said="Revoked."
                  />
                )}
              </>
            ),
          },
        ]}
      />
      {!!identities?.length && <Identities rows={identities} />}
    </>
  );
}
