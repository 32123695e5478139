import { useData, useLive } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { Heading, Status, Time } from "../ui/parts";
import { wordsOf } from "../ui/text";
import { LinkChanged, LinkedAccounts, UnlinkAccount } from "./linked-accounts.gql";

export function LinkedAccountsView() {
  const accounts = useData(LinkedAccounts, {});
  const providers = accounts.data?.externalAuthOverview.providers;
  return (
    <>
      <Heading title="Linked accounts" note="Your accounts elsewhere, with which your workspaces fetch and push." />
      <List
        name="Linked accounts"
        rows={providers}
        from={accounts}
        empty="No provider is set up. Administrators add them by settings of the server."
        columns={[
          { title: "Provider", show: ({ displayName, id }) => <b>{displayName || id}</b> },
          { title: "Type", show: ({ type }) => wordsOf(type) },
          {
            title: "State",
            show: ({ link, id }) => (
              <>
                {link ? (
                  <Status
                    name={link.authenticated ? "CONNECTED" : "FAILED"}
                    label={link.authenticated ? "Linked" : "Has to be linked again"}
                  />
                ) : (
                  <Status name="NONE" label="Not linked" />
                )}
                {link?.validateError && <span class="fault block">{link.validateError}</span>}
                <Follow providerId={id} onChange={accounts.refresh} />
              </>
            ),
          },
          { title: "Linked", show: ({ link }) => <Time at={link?.updatedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ id, displayName, link, connectUrl }) => (
              <>
                <a class="button" href={connectUrl}>
                  {link ? "Link again" : "Link"}
                </a>
                {link && (
                  <Action
                    label="Unlink"
                    on={displayName || id}
                    look="danger"
                    confirm="Your workspaces can no longer use the account."
                    run={UnlinkAccount}
                    given={{ providerId: id }}
                    said="The account is unlinked."
                  />
                )}
              </>
            ),
          },
        ]}
      />
    </>
  );
}

/** Follows whether an account is linked, such as in another tab. */
function Follow({ providerId, onChange }: { providerId: string; onChange: () => void }) {
  useLive(LinkChanged, providerId, { variables: () => ({ providerId }), onEvent: onChange });
  return null;
}
