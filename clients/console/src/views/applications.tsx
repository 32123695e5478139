import { useLocation } from "preact-iso";
import { useAllowed } from "../api/allowed";
import { perform } from "../api/client";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { Failure } from "../ui/failure";
import { Choice, Filters, List, Search } from "../ui/list";
import { Facts, Heading, Labels, Loading, Panel, PersonLink, Status, Time } from "../ui/parts";
import { usePlace } from "../ui/place";
import { totalOf, wordsOf } from "../ui/text";
import { fieldsOf, inputOf, newDefaults, newFields } from "./application-form";
import {
  Application,
  Applications,
  CreateApplication,
  CreateSecret,
  DeleteApplication,
  DeleteSecret,
  Grants,
  GrantsOfApplication,
  RegistrationSettings,
  RevokeGrant,
  UpdateApplication,
  UpdateRegistration,
} from "./applications.gql";
import { AnyExpiry } from "./expiry";

export function ApplicationsView() {
  const place = usePlace();
  const { route } = useLocation();
  const kind = place.get("kind");
  const q = [place.get("q"), kind && `kind:${kind}`].filter(Boolean).join(" ") || null;
  const applications = useData(Applications, { q, ...place.cursors });
  const may = useAllowed({
    create: { may: "oauth2_app:create" },
    read: { may: "deployment_config:read" },
    update: { may: "deployment_config:update" },
  });
  const settings = useData(RegistrationSettings, may("read") ? {} : undefined).data?.oauth2Settings;
  const isOpen = settings?.dynamicRegistration === true;
  // The mutation replaces all settings. What was read of them names its type, which the input does not have.
  const kept = { defaultResource: settings?.defaultResource };
  const setRegistration = (dynamicRegistration: boolean) =>
    perform(UpdateRegistration, { input: { ...kept, dynamicRegistration } });
  return (
    <>
      <Heading title="Applications" note="OAuth2 clients that act for users.">
        {settings && may("update") && (
          <Action
            label={isOpen ? "Close registration" : "Open registration"}
            run={UpdateRegistration}
            given={{ ...kept, dynamicRegistration: !isOpen }}
            confirm={
              isOpen
                ? "New applications cannot register themselves. Those that have stay."
                : "Any application can register itself. Users still decide what it may do."
            }
            said={isOpen ? "Registration is closed." : "Applications can register themselves."}
            undo={() => setRegistration(isOpen)}
          />
        )}
        {settings && may("update") && (
          <Action
            label="Set the default resource"
            run={UpdateRegistration}
            given={{ dynamicRegistration: settings.dynamicRegistration }}
            fields={[
              {
                name: "defaultResource",
                hint: "The address that tokens of applications that register themselves are for, when a request names none.",
              },
            ]}
            values={settings}
            submit="Save"
            said="The default resource is set."
          />
        )}
        {may("create") && (
          <Action
            label="Create an application"
            look="primary"
            run={CreateApplication}
            given={{}}
            fields={newFields}
            defaults={newDefaults}
            prepare={inputOf}
            submit="Create"
            done={({ createOAuth2App }) => route(`/applications/${createOAuth2App.oauth2App.id}`)}
          />
        )}
      </Heading>
      <Filters place={place}>
        <Search place={place} label="Search by name" />
        <Choice
          place={place}
          label="Kind"
          name="kind"
          options={[
            ["admin", "Made here"],
            ["dynamic", "Registered itself"],
            ["document", "Described by a document"],
          ]}
        />
      </Filters>
      <List
        name="Applications"
        rows={applications.data?.oauth2Apps}
        from={applications}
        empty="No application matches."
        place={place}
        columns={[
          { title: "Application", show: (app) => <a href={`/applications/${app.id}`}>{app.name}</a> },
          { title: "Kind", show: ({ kind: each }) => (each === "ADMIN" ? "Made here" : wordsOf(each)) },
          { title: "Type", show: ({ type }) => wordsOf(type) },
          {
            title: "State",
            show: ({ disabled }) =>
              disabled ? <Status name="SUSPENDED" label="Disabled" /> : <Status name="ACTIVE" label="Enabled" />,
          },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </>
  );
}

/** The access that is granted to an application, in words. */
const grantsOf = (count: number) => `${totalOf(count)} ${count === 1 ? "grant" : "grants"} of access`;

export function ApplicationView({ id }: { id: string }) {
  const { route } = useLocation();
  const place = usePlace();
  const may = useAllowed({
    update: { may: "oauth2_app:update", resourceId: id },
    delete: { may: "oauth2_app:delete", resourceId: id },
    secrets: { may: "oauth2_app_secret:read" },
    create: { may: "oauth2_app_secret:create" },
    remove: { may: "oauth2_app_secret:delete" },
    revoke: { may: "oauth2_grant:delete" },
  });
  const { data, error, refresh } = useData(Application, may.isKnown ? { id, secrets: may("secrets") } : undefined);
  const grants = useData(GrantsOfApplication, { app: id, ...place.cursors });
  const granted = grants.data?.oauth2Grants;
  const app = data?.oauth2App;
  if (!app) return error ? <Failure error={error} retry={refresh} /> : <Loading />;
  const setDisabled = (disabled: boolean) => perform(UpdateApplication, { input: { id, disabled } });
  return (
    <>
      <Heading title={app.name} note={`Client ID ${app.clientId}`} up={["/applications", "Applications"]}>
        {may("update") && (
          <>
            <Action
              label="Edit"
              run={UpdateApplication}
              given={{ id }}
              fields={fieldsOf(app)}
              values={{ ...app, scopeCeiling: app.scopeCeiling ?? ["all"], serviceUserId: app.serviceUser?.username }}
              submit="Save"
            />
            <Action
              label={app.disabled ? "Enable" : "Disable"}
              run={UpdateApplication}
              given={{ id, disabled: !app.disabled }}
              said={app.disabled ? "It works again." : "Its tokens stop working."}
              undo={() => setDisabled(app.disabled)}
            />
          </>
        )}
        {may("delete") && granted && (
          <Action
            label="Delete"
            on={app.name}
            look="danger"
            confirm={`Its secrets and ${grantsOf(granted.totalCount)} are deleted. This cannot be undone.`}
            run={DeleteApplication}
            given={{ id }}
            done={() => route("/applications")}
          />
        )}
      </Heading>
      <Facts
        facts={[
          [
            "State",
            <Status
              key="state"
              name={app.disabled ? "SUSPENDED" : "ACTIVE"}
              label={app.disabled ? "Disabled" : "Enabled"}
            />,
          ],
          ["Type", wordsOf(app.type)],
          ["Redirect URIs", <Labels key="uris" of={app.redirectUris} />],
          ["Grant types", app.grantTypes.map(wordsOf).join(", ")],
          ["Service account", app.serviceUser && <PersonLink key="service" user={app.serviceUser} />],
          ["Resource indicators", <Labels key="resources" of={app.resourceIndicators} none="None" />],
          ["Default resource", app.defaultResource && <code key="default">{app.defaultResource}</code>],
          ["Scopes at most", <Labels key="scopes" of={app.scopeCeiling} none="All" />],
          ["PKCE", app.pkceRequired ? "Required" : "Optional"],
          ["Authorization URL", <code key="authorization">{app.endpoints.authorization}</code>],
          ["Token URL", <code key="token">{app.endpoints.token}</code>],
          ["Created by", app.createdBy ? <PersonLink key="creator" user={app.createdBy} /> : "Registered itself"],
          ["Last used", <Time key="used" at={app.lastUsedAt} />],
        ]}
      />
      {app.secrets && (
        <Panel
          title="Secrets"
          actions={
            may("create") && (
              <Action
                label="Add a secret"
                run={CreateSecret}
                given={{ app: id }}
                fields={[{ name: "expiresAt", label: "Expires", control: AnyExpiry }]}
                submit="Add"
                reveal={({ createOAuth2AppSecret }) => ["A new secret", createOAuth2AppSecret.clientSecretFull]}
              />
            )
          }
        >
          <List
            name="Secrets"
            rows={app.secrets}
            empty="No secret. Add one if the application runs on a server."
            columns={[
              { title: "Secret", show: ({ clientSecretTruncated }) => <code>{clientSecretTruncated}</code> },
              { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
              { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
              { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
              {
                title: "Actions",
                isAction: true,
                show: (secret) =>
                  may("remove") && (
                    <Action
                      label="Delete"
                      on={secret.clientSecretTruncated}
                      title="Delete the secret"
                      look="danger"
                      confirm="Access that was granted with it ends. This cannot be undone."
                      run={DeleteSecret}
                      given={{ app: id, id: secret.id }}
                    />
                  ),
              },
            ]}
          />
        </Panel>
      )}
      <Panel title="Users who granted access">
        <List
          name="Users who granted access"
          rows={granted}
          from={grants}
          place={place}
          empty="No user has granted it access."
          columns={[
            { title: "User", show: ({ user }) => <PersonLink user={user} /> },
            { title: "Scopes", show: ({ scopes }) => <Labels of={scopes} none="Everything" /> },
            { title: "Granted", show: ({ createdAt }) => <Time at={createdAt} /> },
            { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
            {
              title: "Actions",
              isAction: true,
              show: (grant) =>
                may("revoke") && (
                  <Action
                    label="Revoke"
                    on={grant.user.username}
                    look="danger"
                    confirm="The application loses its access to this user's data."
                    run={RevokeGrant}
                    given={{ id: grant.id }}
                  />
                ),
            },
          ]}
        />
      </Panel>
    </>
  );
}

export function GrantsView() {
  const place = usePlace();
  const may = useAllowed({ all: { may: "oauth2_grant:read" }, revokeAll: { may: "oauth2_grant:delete" } });
  const isMine = place.get("whose") !== "all";
  const grants = useData(Grants, {
    user: isMine ? "me" : null,
    includeEnded: place.get("ended") === "yes",
    ...place.cursors,
  });
  return (
    <>
      <Heading title="Grants" note="The access that users have given to applications." />
      <Filters place={place}>
        {may("all") && <Choice place={place} label="Whose" name="whose" any="Mine" options={[["all", "Everyone's"]]} />}
        <Choice place={place} label="State" name="ended" any="In force" options={[["yes", "Ended, too"]]} />
      </Filters>
      <List
        name="Grants"
        rows={grants.data?.oauth2Grants}
        from={grants}
        empty="No application has access. Applications ask for it when you connect them."
        place={place}
        columns={[
          { title: "Application", show: ({ app }) => <b>{app.name}</b> },
          { title: "User", show: ({ user }) => <PersonLink user={user} /> },
          { title: "Scopes", show: ({ scopes }) => <Labels of={scopes} none="Everything" /> },
          {
            title: "State",
            show: ({ revokedAt, revokeReason }) =>
              revokedAt ? (
                <Status name="SUSPENDED" label={wordsOf(revokeReason ?? "revoked")} />
              ) : (
                <Status name="ACTIVE" />
              ),
          },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          { title: "Expires", show: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (grant) =>
              !grant.revokedAt &&
              (isMine || may("revokeAll")) && (
                <Action
                  label="Revoke"
                  on={grant.app.name}
                  look="danger"
                  confirm="The application loses its access immediately."
                  run={RevokeGrant}
                  given={{ id: grant.id }}
                  said="The access is revoked."
                />
              ),
          },
        ]}
      />
    </>
  );
}
