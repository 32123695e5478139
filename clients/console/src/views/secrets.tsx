import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import { List } from "../ui/list";
import { Facts, Heading, Share, Time } from "../ui/parts";
import { bytesOf } from "../ui/text";
import { CreateUserSecret, DeleteUserSecret, Secrets, UpdateUserSecret } from "./secrets.gql";

const fields = [
  { name: "description", hint: "What it is for. Only you see it." },
  {
    name: "envName",
    label: "Environment variable",
    hint: "Programs find the value in it.",
    placeholder: "REGISTRY_TOKEN",
  },
  {
    name: "filePath",
    label: "File",
    hint: "Where the value is written, in the home directory or at a whole path.",
    placeholder: "~/.netrc",
  },
] as const;

export function SecretsView() {
  const secrets = useData(Secrets, {});
  const usage = secrets.data?.userSecretUsage;
  return (
    <>
      <Heading title="Secrets" note="Your workspaces get them as environment variables and files.">
        <Action
          label="Add a secret"
          look="primary"
          run={CreateUserSecret}
          given={{}}
          fields={[
            { name: "name", hint: "By which you find it." },
            { name: "value", hint: "It is never shown again." },
            ...fields,
          ]}
          submit="Add"
        />
      </Heading>
      {usage && (
        <Facts
          facts={[
            ["Secrets", <Share key="count" part={usage.count} of={usage.maxCount} />],
            ["Size", <Share key="bytes" part={usage.valueBytes} of={usage.maxValueBytes} show={bytesOf} />],
          ]}
        />
      )}
      <List
        name="Secrets"
        rows={secrets.data?.userSecrets}
        from={secrets}
        empty="No secret. Add the tokens and passwords that your programs need."
        columns={[
          {
            title: "Name",
            show: ({ name, description }) => (
              <>
                <b>{name}</b>
                {description && <span class="faint block">{description}</span>}
              </>
            ),
          },
          { title: "Variable", show: ({ envName }) => envName && <code>{envName}</code> },
          { title: "File", show: ({ filePath }) => filePath && <code>{filePath}</code> },
          { title: "Delivered", show: ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} /> },
          { title: "Changed", show: ({ updatedAt }) => <Time at={updatedAt} /> },
          {
            title: "Actions",
            isAction: true,
            show: (secret) => (
              <>
                <Action
                  label="Edit"
                  on={secret.name}
                  run={UpdateUserSecret}
                  given={{ name: secret.name }}
                  fields={[{ name: "value", label: "New value", hint: "Empty keeps the present one." }, ...fields]}
                  values={secret}
                  submit="Save"
                />
                <Action
                  label="Delete"
                  on={secret.name}
                  look="danger"
                  confirm="Its value is lost. Workspaces that run keep it until they restart."
                  run={DeleteUserSecret}
                  given={{ name: secret.name }}
                  said="The secret is deleted."
                />
              </>
            ),
          },
        ]}
      />
    </>
  );
}
