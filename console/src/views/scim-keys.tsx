import { useAllowed } from "../api/allowed";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { Heading, Label, Panel, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { titleOf, wordsOf } from "../ui/text";
import { useOrganizationOptions } from "./organization-choice";
import { CreateScimKey, RevokeScimKey, ScimChanges, ScimKeys, UpdateScimKey } from "./scim-keys.gql";

export function ScimKeysView() {
  const place = usePlace();
  const keys = useData(ScimKeys, place.cursors);
  const organizations = useOrganizationOptions();
  const may = useAllowed({
    create: { may: "scim_key:create" },
    delete: { may: "scim_key:delete" },
    audit: { may: "audit_log:read" },
  });
  const shown = place.get("key");
  const changes = useData(ScimChanges, shown && may("audit") ? { key: shown, first: 25 } : undefined);
  const nameOf = (id: string) => keys.data?.scimKeys.nodes.find((key) => key.id === id)?.name ?? id;
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
              "name",
              {
                name: "organizationIds",
                label: "Organizations",
                options: organizations,
                hint: "New users join all of them. Without any, the default organization.",
              },
              "source",
              "expiresAt",
            ]}
            prepare={({ organizationIds, ...rest }) => ({
              ...rest,
              ...((organizationIds as string[]).length > 0 && { organizationIds: organizationIds as string[] }),
            })}
            submit="Create"
            reveal={({ createScimKey: { scimKey, secret } }) => [`Key ${scimKey.name}`, secret]}
          />
        )}
      </Heading>
      <List
        name="SCIM keys"
        rows={keys.data?.scimKeys}
        from={keys}
        empty="No key. Create one for your identity provider."
        place={place}
        columns={[
          { title: "Name", show: ({ name }) => <b>{name}</b> },
          { title: "Source", show: ({ source }) => source },
          {
            title: "Organizations",
            show: ({ organizations: all }) => all.map(titleOf).join(", "),
          },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          { title: "From", show: ({ lastUsedIp }) => lastUsedIp },
          { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (key) => (
              <>
                {may("audit") && (
                  <button
                    type="button"
                    aria-label={`Changes by ${key.name}`}
                    onClick={() => place.set({ key: key.id })}
                  >
                    Changes
                  </button>
                )}
                {may("create") && (
                  <Action
                    label="Edit"
                    on={key.name}
                    run={UpdateScimKey}
                    given={{ id: key.id }}
                    fields={["name", "expiresAt"]}
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
      {shown && may("audit") && (
        <Panel
          title={`Changes by ${nameOf(shown)}`}
          actions={
            <>
              <a href={`/audit?key=${shown}`}>All in the audit log</a>
              <button type="button" onClick={() => place.set({ key: "" })}>
                Close
              </button>
            </>
          }
        >
          <List
            name={`Changes by ${nameOf(shown)}`}
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
    </>
  );
}
