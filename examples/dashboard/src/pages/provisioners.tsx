import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { useAllowed } from "../api/allowed";
import { graphql } from "../gql";
import { Failure } from "../ui/failure";
import { Confirmed, FormDialog, labelOf } from "../ui/form";
import { Choice, List } from "../ui/list";
import { usePlace } from "../ui/pages";
import { Heading, Loading, Panel, Revealed, Status, Time, wordsOf } from "../ui/parts";

const organizationsQuery = graphql(`
  query Organizations {
    organizations {
      id
      name
      displayName
      isDefault
    }
  }
`);

const daemonsQuery = graphql(`
  query Daemons($organization: String!) {
    provisionerDaemons(organization: $organization) {
      id
      name
      status
      version
      provisioners
      lastSeenAt
      keyName
    }
  }
`);

const keysQuery = graphql(`
  query ProvisionerKeys($organization: String!) {
    provisionerKeys(organization: $organization) {
      id
      name
      tags
      createdAt
    }
  }
`);

const jobsQuery = graphql(`
  query Jobs($organization: String!, $first: Int, $after: String, $last: Int, $before: String) {
    provisionerJobs(organization: $organization, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      nodes {
        id
        type
        status
        error
        createdAt
        workerName
        initiator {
          id
          username
        }
        metadata {
          templateDisplayName
          templateName
          workspaceName
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

const createKey = graphql(`
  mutation CreateProvisionerKey($input: CreateProvisionerKeyInput!) {
    createProvisionerKey(input: $input) {
      key
    }
  }
`);

const deleteKey = graphql(`
  mutation DeleteProvisionerKey($input: DeleteProvisionerKeyInput!) {
    deleteProvisionerKey(input: $input) {
      __typename
    }
  }
`);

export function ProvisionersPage() {
  const place = usePlace();
  const { data, error, refetch } = useQuery(organizationsQuery);
  const [isCreating, setCreating] = useState(false);
  const [key, setKey] = useState<string>();
  const [create] = useMutation(createKey, { refetchQueries: ["ProvisionerKeys"] });
  const organizations = data?.organizations;
  const usual = organizations?.find(({ isDefault }) => isDefault) ?? organizations?.[0];
  const organization = place.get("organization") || (usual?.id ?? "default");
  const may = useAllowed({
    create: { may: "provisioner_key:create", organizationId: organization },
    delete: { may: "provisioner_key:delete", organizationId: organization },
  });
  if (!organizations) return error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />;
  return (
    <>
      <Heading title="Provisioners" note={organizations.length === 1 ? usual?.displayName : undefined}>
        {may("create") && (
          <button type="button" className="primary" onClick={() => setCreating(true)}>
            Create a key
          </button>
        )}
      </Heading>
      {organizations.length > 1 && (
        <div className="filters">
          <Choice
            place={place}
            label="Organization"
            name="organization"
            any={usual && labelOf(usual, organizations)}
            options={organizations
              .filter((each) => each !== usual)
              .map((each) => [each.id, labelOf(each, organizations)])}
          />
        </div>
      )}
      <Daemons organization={organization} />
      <Keys organization={organization} isDeletable={may("delete")} />
      <Jobs organization={organization} />
      {isCreating && (
        <FormDialog
          title="Create a key"
          submit="Create"
          fields={[{ name: "name", label: "Name", hint: "The server finds a name if this is empty" }]}
          onSubmit={async ({ name }) => {
            const { data: made } = await create({ variables: { input: { organization, ...(name && { name }) } } });
            setKey(made?.createProvisionerKey.key);
          }}
          onClose={() => setCreating(false)}
        />
      )}
      {key && <Revealed title="The provisioner key" secret={key} onClose={() => setKey(undefined)} />}
    </>
  );
}

/** Milliseconds between looks at the daemons, which have no subscription. */
const pollInterval = 10_000;

function Daemons({ organization }: { organization: string }) {
  const { data, error, refetch } = useQuery(daemonsQuery, { variables: { organization }, pollInterval });
  return (
    <Panel title="Daemons">
      <List
        name="Daemons"
        rows={data?.provisionerDaemons}
        error={error}
        retry={() => void refetch()}
        empty="No daemon has connected yet. Start one with a key."
        columns={[
          { title: "Name", show: ({ name }) => name },
          { title: "Status", show: ({ status }) => <Status name={status} /> },
          { title: "Types", show: ({ provisioners }) => provisioners.join(", ") },
          { title: "Version", show: ({ version }) => version },
          { title: "Key", show: ({ keyName }) => wordsOf(keyName) },
          { title: "Last seen", show: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
        ]}
      />
    </Panel>
  );
}

function Keys({ organization, isDeletable }: { organization: string; isDeletable: boolean }) {
  const { data, error, refetch } = useQuery(keysQuery, { variables: { organization } });
  const [remove] = useMutation(deleteKey, { refetchQueries: ["ProvisionerKeys"] });
  return (
    <Panel title="Keys">
      <List
        name="Keys"
        rows={data?.provisionerKeys}
        error={error}
        retry={() => void refetch()}
        empty="No keys. The built-in daemon needs none."
        columns={[
          { title: "Name", show: ({ name }) => name },
          {
            title: "Tags",
            show: ({ tags }) =>
              Object.entries(tags).map(([name, value]) => <code key={name}>{`${name}=${value}`}</code>),
          },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: ({ name }) =>
              isDeletable && (
                <Confirmed
                  label="Delete"
                  on={name}
                  question={`Delete ${name}? Its daemons end.`}
                  act={() => remove({ variables: { input: { organization, name } } })}
                />
              ),
          },
        ]}
      />
    </Panel>
  );
}

function Jobs({ organization }: { organization: string }) {
  const place = usePlace();
  const result = useQuery(jobsQuery, { variables: { organization, ...place.cursors } });
  const list = (result.data ?? result.previousData)?.provisionerJobs;
  return (
    <Panel title="Jobs">
      <List
        name="Jobs"
        rows={list?.nodes}
        error={result.error}
        retry={() => void result.refetch()}
        empty="No jobs yet."
        place={place}
        pageInfo={list?.pageInfo}
        totalCount={list?.totalCount}
        columns={[
          { title: "Job", show: ({ type }) => wordsOf(type) },
          {
            title: "For",
            show: ({ metadata }) => metadata.workspaceName || metadata.templateDisplayName || metadata.templateName,
          },
          {
            title: "Status",
            show: ({ status, error }) => (
              <>
                <Status name={status} /> {error && <span className="fault">{error}</span>}
              </>
            ),
          },
          { title: "Requested by", show: ({ initiator }) => initiator.username },
          { title: "Daemon", show: ({ workerName }) => workerName || <span className="faint">–</span> },
          { title: "Created", show: ({ createdAt }) => <Time at={createdAt} /> },
        ]}
      />
    </Panel>
  );
}
