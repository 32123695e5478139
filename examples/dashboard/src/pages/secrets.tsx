import { useMutation, useQuery } from "@apollo/client/react";
import { useState } from "react";
import { graphql } from "../gql";
import type { SecretsQuery } from "../gql/graphql";
import { Confirmed, type FieldSpec, FormDialog } from "../ui/form";
import { List } from "../ui/list";
import { Heading, Time } from "../ui/parts";

const secretsQuery = graphql(`
  query Secrets {
    userSecrets {
      id
      name
      description
      envName
      filePath
      updatedAt
      lastDeliveredAt
    }
    userSecretUsage {
      count
      maxCount
      valueBytes
      maxValueBytes
    }
  }
`);

const createSecret = graphql(`
  mutation CreateSecret($input: CreateUserSecretInput!) {
    createUserSecret(input: $input) {
      userSecret {
        id
      }
    }
  }
`);

const updateSecret = graphql(`
  mutation UpdateSecret($input: UpdateUserSecretInput!) {
    updateUserSecret(input: $input) {
      userSecret {
        id
        description
        envName
        filePath
        updatedAt
      }
    }
  }
`);

const deleteSecret = graphql(`
  mutation DeleteSecret($input: DeleteUserSecretInput!) {
    deleteUserSecret(input: $input) {
      __typename
    }
  }
`);

const refetchQueries = ["Secrets"];

type Secret = SecretsQuery["userSecrets"][number];

const fieldsOf = (secret?: Secret): FieldSpec[] => [
  ...(secret ? [] : [{ name: "name", label: "Name", isRequired: true }]),
  {
    name: "value",
    label: secret ? "New value" : "Value",
    type: "area",
    isRequired: !secret,
    hint: secret ? "Empty to keep the value" : "It cannot be read again",
  },
  { name: "description", label: "Description", value: secret?.description },
  { name: "envName", label: "Environment variable", value: secret?.envName },
  { name: "filePath", label: "File", value: secret?.filePath, hint: "Such as ~/.npmrc" },
];

export function SecretsPage() {
  const { data, error, refetch } = useQuery(secretsQuery);
  const [edited, setEdited] = useState<Secret | "new">();
  const [create] = useMutation(createSecret, { refetchQueries });
  const [update] = useMutation(updateSecret);
  const [remove] = useMutation(deleteSecret, { refetchQueries });
  const usage = data?.userSecretUsage;
  return (
    <>
      <Heading
        title="Secrets"
        note={
          usage &&
          `${usage.count} of ${usage.maxCount}, ${usage.valueBytes.toLocaleString("en")} of ${usage.maxValueBytes.toLocaleString("en")} bytes`
        }
      >
        <button type="button" className="primary" onClick={() => setEdited("new")}>
          Add a secret
        </button>
      </Heading>
      <p className="faint">Your workspaces get them when they start. Nobody else can list them.</p>
      <List
        name="Secrets"
        rows={data?.userSecrets}
        error={error}
        retry={() => void refetch()}
        empty="No secrets yet."
        columns={[
          {
            title: "Name",
            show: ({ name, description }) => (
              <>
                <b>{name}</b> <span className="faint">{description}</span>
              </>
            ),
          },
          {
            title: "Variable",
            show: ({ envName }) => (envName ? <code>{envName}</code> : <span className="faint">–</span>),
          },
          {
            title: "File",
            show: ({ filePath }) => (filePath ? <code>{filePath}</code> : <span className="faint">–</span>),
          },
          { title: "Changed", show: ({ updatedAt }) => <Time at={updatedAt} /> },
          { title: "Delivered", show: ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (secret) => (
              <>
                <button type="button" aria-label={`Edit ${secret.name}`} onClick={() => setEdited(secret)}>
                  Edit
                </button>
                <Confirmed
                  label="Delete"
                  on={secret.name}
                  question={`Delete ${secret.name}?`}
                  act={() => remove({ variables: { input: { name: secret.name } } })}
                />
              </>
            ),
          },
        ]}
      />
      {edited && (
        <FormDialog
          title={edited === "new" ? "Add a secret" : `Edit ${edited.name}`}
          submit="Save"
          fields={fieldsOf(edited === "new" ? undefined : edited)}
          onSubmit={({ name = "", value = "", ...rest }) =>
            edited === "new"
              ? create({ variables: { input: { name, value, ...rest } } })
              : update({ variables: { input: { name: edited.name, ...(value && { value }), ...rest } } })
          }
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  );
}
