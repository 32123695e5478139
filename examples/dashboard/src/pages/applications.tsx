import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import type { ApplicationsQuery } from "../gql/graphql";
import { Confirmed, type FieldSpec, FormDialog, type Values } from "../ui/form";
import { List, Search } from "../ui/list";
import { useNotices } from "../ui/notices";
import { usePlace } from "../ui/pages";
import { Heading, Revealed, Status, Time, wordsOf } from "../ui/parts";

const applicationsQuery = graphql(`
  query Applications($q: String, $first: Int, $after: String, $last: Int, $before: String) {
    oauth2Apps(q: $q, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        clientId
        name
        kind
        type
        disabled
        redirectUris
        scopeCeiling
        lastUsedAt
        secrets {
          id
          clientSecretTruncated
        }
      }
      pageInfo {
        startCursor
        endCursor
        hasNextPage
        hasPreviousPage
      }
    }
  }
`);

const createApp = graphql(`
  mutation CreateApplication($input: CreateOAuth2AppInput!) {
    createOAuth2App(input: $input) {
      oauth2App {
        id
      }
    }
  }
`);

const updateApp = graphql(`
  mutation UpdateApplication($input: UpdateOAuth2AppInput!) {
    updateOAuth2App(input: $input) {
      oauth2App {
        id
        name
        disabled
        redirectUris
        scopeCeiling
      }
    }
  }
`);

const deleteApp = graphql(`
  mutation DeleteApplication($input: DeleteOAuth2AppInput!) {
    deleteOAuth2App(input: $input) {
      __typename
    }
  }
`);

const createSecret = graphql(`
  mutation CreateApplicationSecret($input: CreateOAuth2AppSecretInput!) {
    createOAuth2AppSecret(input: $input) {
      clientSecretFull
    }
  }
`);

const refetchQueries = ["Applications"];

type Application = ApplicationsQuery["oauth2Apps"]["nodes"][number];

const linesOf = (text = "") => text.split(/\s+/).filter(Boolean);

const fieldsOf = (app?: Application): FieldSpec[] => [
  { name: "name", label: "Name", value: app?.name, isRequired: true },
  {
    name: "redirectUris",
    label: "Redirect URIs",
    type: "area",
    value: app?.redirectUris.join("\n"),
    isRequired: true,
    hint: "One per line",
  },
  {
    name: "scopeCeiling",
    label: "Scopes",
    type: "area",
    value: app?.scopeCeiling?.join("\n"),
    hint: "The most that it may ask for, one per line",
  },
];

function inputOf({ name = "", redirectUris, scopeCeiling }: Values) {
  const scopes = linesOf(scopeCeiling);
  return { name, redirectUris: linesOf(redirectUris), ...(scopes.length > 0 && { scopeCeiling: scopes }) };
}

export function ApplicationsPage() {
  const place = usePlace();
  const result = useQuery(applicationsQuery, { variables: { ...place.cursors, q: place.get("q") || null } });
  const list = (result.data ?? result.previousData)?.oauth2Apps;
  const [edited, setEdited] = useState<Application | "new">();
  const [secret, setSecret] = useState<string>();
  const [create] = useMutation(createApp, { refetchQueries });
  const [update] = useMutation(updateApp);
  const [remove] = useMutation(deleteApp, { refetchQueries });
  const [makeSecret] = useMutation(createSecret, { refetchQueries });
  const { attempt } = useNotices();
  const may = useAllowed({
    create: { may: "oauth2_app:create" },
    update: { may: "oauth2_app:update" },
    delete: { may: "oauth2_app:delete" },
    secret: { may: "oauth2_app_secret:create" },
  });

  const reveal = async (app: string) => {
    const { data } = await makeSecret({ variables: { input: { app } } });
    setSecret(data?.createOAuth2AppSecret.clientSecretFull);
  };

  return (
    <>
      <Heading title="Applications" note="OAuth2 clients of this server">
        {may("create") && (
          <button type="button" className="primary" onClick={() => setEdited("new")}>
            Create an application
          </button>
        )}
      </Heading>
      <div className="filters">
        <Search place={place} label="Search by name" />
      </div>
      <List
        name="Applications"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No application matches."
        place={place}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Name", show: ({ name }) => <b>{name}</b> },
          { title: "Client ID", show: ({ clientId }) => <code className="id">{clientId}</code> },
          { title: "Registered by", show: ({ kind }) => (kind === "ADMIN" ? "an owner" : wordsOf(kind)) },
          {
            title: "Status",
            show: ({ disabled }) => (
              <Status name={disabled ? "SUSPENDED" : "ACTIVE"} label={disabled ? "Disabled" : "Enabled"} />
            ),
          },
          { title: "Secrets", isNumber: true, show: ({ secrets }) => secrets?.length ?? 0 },
          { title: "Last used", show: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (app) => (
              <>
                {may("update") && (
                  <button type="button" aria-label={`Edit ${app.name}`} onClick={() => setEdited(app)}>
                    Edit
                  </button>
                )}
                {may("secret") && (
                  <button
                    type="button"
                    aria-label={`New secret for ${app.name}`}
                    onClick={() => void attempt(() => reveal(app.id))}
                  >
                    New secret
                  </button>
                )}
                {may("delete") && (
                  <Confirmed
                    label="Delete"
                    on={app.name}
                    question={`Delete ${app.name}? All access through it ends.`}
                    act={() => remove({ variables: { input: { id: app.id } } })}
                  />
                )}
              </>
            ),
          },
        ]}
      />
      {edited && (
        <FormDialog
          title={edited === "new" ? "Create an application" : `Edit ${edited.name}`}
          submit={edited === "new" ? "Create" : "Save"}
          fields={fieldsOf(edited === "new" ? undefined : edited)}
          onSubmit={(values) =>
            edited === "new"
              ? create({ variables: { input: inputOf(values) } })
              : update({ variables: { input: { id: edited.id, ...inputOf(values) } } })
          }
          onClose={() => setEdited(undefined)}
        />
      )}
      {secret && <Revealed title="The client secret" secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
