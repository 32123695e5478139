// The form of a new account: first who it is for, then what such an account needs.
import { useLocation } from "preact-iso";
import { useData } from "../api/hooks";
import { Action } from "../ui/action";
import type { FieldSpec, Options } from "../ui/form";
import { InvitationChoices } from "./invitations.gql";
import { useOrganizationOptions } from "./organization-choice";
import { CreateUser, type CreateUserInput, type LoginType } from "./users.gql";

/** The type of accounts of programs, beside the ways in which people sign in. */
const service = "SERVICE";

/** The types of accounts that the deployment can have. */
function useTypes(): Options {
  const { data } = useData(InvitationChoices, {});
  const { passwordAuth = true, identityProviders = [] } = data?.serverInfo ?? {};
  return [
    ...(passwordAuth
      ? [["PASSWORD", "A person with a password", "You set the first one, which the person changes."] as const]
      : []),
    ...identityProviders.map(
      ({ type, label }) => [type, `A person at ${label}`, `Signs in at ${label}, with the address below.`] as const,
    ),
    [service, "A service account", "For programs: it has keys, and never signs in."],
  ];
}

const isPerson = ({ type }: Readonly<Record<string, string>>) => type !== service;
const hasPassword = ({ type }: Readonly<Record<string, string>>) => type === "PASSWORD";

/** The input of what is filled in: the type says how the user signs in. */
function inputOf({ type, organizationIds, ...rest }: Record<string, unknown>): Partial<CreateUserInput> {
  const chosen = organizationIds as string[] | undefined;
  return {
    ...rest,
    ...(type === service ? { isServiceAccount: true } : { loginType: type as LoginType }),
    ...(chosen?.length && { organizationIds: chosen }),
  };
}

export function CreateUserButton() {
  const { route } = useLocation();
  const organizations = useOrganizationOptions();
  const types = useTypes();
  const fields: FieldSpec[] = [
    { name: "type", label: "Account", options: types },
    { name: "email", hint: "Where notifications go. No two accounts share an address." },
    { name: "username", hint: "Part of addresses and commands, such as ada-lovelace." },
    { name: "name", label: "Name", placeholder: "Ada Lovelace", isShown: isPerson },
    {
      name: "name",
      label: "What it does",
      placeholder: "Deploys from the build server",
      isShown: (all) => !isPerson(all),
    },
    {
      name: "password",
      label: "First password",
      autoComplete: "new-password",
      isRequired: true,
      isShown: hasPassword,
    },
    { name: "mustChangePassword", label: "The user must change it first", isShown: hasPassword },
    ...(organizations.length > 1
      ? [
          {
            name: "organizationIds",
            label: "Organizations",
            options: organizations,
            hint: "If you choose none, the account joins the default one.",
          },
        ]
      : []),
  ];
  return (
    <Action
      label="Create a user"
      look="primary"
      run={CreateUser}
      given={{}}
      defaults={{ type: types[0]![0], mustChangePassword: true }}
      fields={fields}
      submit="Create"
      prepare={inputOf}
      done={({ createUser }) => route(`/users/${createUser.user.id}`)}
    />
  );
}

/** The fields of an account that its user may change, too. */
export const profileFields: readonly FieldSpec[] = [
  { name: "name", label: "Name", hint: "As others see it." },
  { name: "username", hint: "Part of addresses and commands. The former one no longer works." },
];

export const avatarField: FieldSpec = {
  name: "avatarUrl",
  label: "Picture",
  hint: "The address of a picture on the web. Without one, the initials are shown.",
  placeholder: "https://",
};
