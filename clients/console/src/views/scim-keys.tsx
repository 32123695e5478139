import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { Heading, Label, Panel, Status, LastUse, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { titleOf, wordsOf } from "../ui/text";
import { AnyExpiry } from "./expiry";
import { useOrganizationOptions } from "./organization-choice";
import { CreateScimKey, RevokeScimKey, ScimChanges, ScimKeys, ScimRequests, UpdateScimKey } from "./scim-keys.gql";
import { ScimSetup } from "./scim-setup";

export function ScimKeysView() {
  const place = usePlace();
  const keys = useData(ScimKeys, {});
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "scim_key:create" },
    delete: { may: "scim_key:delete" },
    audit: { may: "audit_log:read" },
  });
  const shown = place.get("key");
  const changes = useData(ScimChanges, shown && may("audit") ? { key: shown, first: 25 } : undefined);
  // Those of a revoked key are gone. Its changes stay.
  const opened = keys.data?.scimKeys.nodes.find(({ id }) => id === shown);
  const requests = useData(ScimRequests, opened && { key: opened.id, ...place.cursors });
  const title = opened?.name ?? shown;
  const close = (
    <button type="button" onClick={() => place.set({ key: "" })}>
      Close
    </button>
  );
  return (
    <>
      <Heading title="SCIM keys" note="With them, identity providers create and suspend users.">
        {may("create") && (
          <Action
            label="Create a key"
            look="primary"
            run={CreateScimKey}
            given={{}}
            fields={[
              { name: "name", hint: "Such as Okta, or the name of your directory.", placeholder: "Okta" },
              ...(organizations.length > 1
                ? [
                    {
                      name: "organizationIds",
                      label: "Organizations",
                      options: organizations,
                      hint: "New people join all of them. If you choose none, they join the default one.",
                    },
                  ]
                : []),
              {
                name: "source",
                label: "Identity provider",
                hint: "Keys with the same text here are of one provider: a new key can replace an old one. Leave it empty if you have one provider.",
                placeholder: "default",
              },
              { name: "expiresAt", label: "Expires", control: AnyExpiry },
            ]}
            prepare={({ organizationIds, ...rest }) => ({
              ...rest,
              ...((organizationIds as string[] | undefined)?.length && {
                organizationIds: organizationIds as string[],
              }),
            })}
            submit="Create"
            reveal={({ createScimKey: { scimKey, secret } }) => [
              `Key ${scimKey.name}`,
              secret,
              <ScimSetup key={scimKey.id} keyId={scimKey.id} secret={secret} />,
            ]}
          />
        )}
      </Heading>
      <List
        name="SCIM keys"
        rows={keys.data?.scimKeys}
        from={keys}
        empty="No key. Create one for your identity provider."
        columns={[
          { title: "Name", show: ({ name }) => <b>{name}</b> },
          { title: "Source", show: ({ source }) => source },
          {
            title: "Organizations",
            show: ({ organizations: all }) => all.map(titleOf).join(", "),
          },
          { title: "Last used", show: ({ lastUsedAt, lastUsedIp }) => <LastUse at={lastUsedAt} ip={lastUsedIp} /> },
          { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (key) => (
              <>
                <button type="button" aria-label={`Activity of ${key.name}`} onClick={() => place.set({ key: key.id })}>
                  Activity
                </button>
                {may("create") && (
                  <Action
                    label="Edit"
                    on={key.name}
                    run={UpdateScimKey}
                    given={{ id: key.id }}
                    fields={["name", { name: "expiresAt", label: "Expires", control: AnyExpiry }]}
                    values={key}
                    submit="Save"
                  />
                )}
                {may("delete") && (
                  <Action
                    label="Revoke"
                    on={key.name}
                    look="danger"
                    confirm="The identity provider can make no more changes. Its users stay. This cannot be undone."
                    run={RevokeScimKey}
                    given={{ id: key.id }}
                  />
                )}
              </>
            ),
          },
        ]}
      />
      {opened && (
        <Panel title={`Connect ${title}`} actions={close}>
          <ScimSetup keyId={opened.id} />
        </Panel>
      )}
      {shown && may("audit") && (
        <Panel
          title={`Changes by ${title}`}
          actions={
            <>
              <a href={`/audit?key=${shown}`}>All in the audit log</a>
              {!opened && close}
            </>
          }
        >
          <List
            name={`Changes by ${title}`}
            rows={changes.data?.auditEvents}
            from={changes}
            empty="It has changed nothing yet."
            columns={[
              { title: "Time", show: ({ time }) => <Time at={time} /> },
              { title: "Action", show: ({ action }) => wordsOf(action) },
              { title: "What", show: ({ resourceType }) => wordsOf(resourceType) },
              {
                title: "Which",
                show: ({ resourceType, resourceLabel }) => <Label type={resourceType} text={resourceLabel} />,
              },
              { title: "From", show: ({ ip }) => ip },
              { title: "Request ID", show: ({ requestId }) => <code>{requestId}</code> },
            ]}
          />
        </Panel>
      )}
      {opened && (
        <Panel title={`Failed requests of ${title}`}>
          <List
            name={`Failed requests of ${title}`}
            rows={requests.data?.scimRequests}
            from={requests}
            empty="No request has failed in 30 days. When the identity provider reports an error, its request is here, with the reason."
            place={place}
            columns={[
              { title: "Time", show: ({ time }) => <Time at={time} /> },
              { title: "Method", show: ({ method }) => method },
              { title: "Path", show: ({ path }) => <code>{path}</code> },
              { title: "Status", show: ({ status }) => <Status name="FAILED" label={String(status)} /> },
              { title: "Reason", show: ({ detail }) => detail },
              { title: "Request ID", show: ({ requestId }) => <code>{requestId}</code> },
            ]}
          />
        </Panel>
      )}
    </>
  );
}
